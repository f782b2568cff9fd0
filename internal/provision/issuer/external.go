package issuer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// ErrNotPublished says that the documents are written and the user has yet to publish them.
var ErrNotPublished = errors.New("the issuer documents are not published yet")

// WriteDocuments is for an issuer whose documents the user publishes himself: a static website or a custom domain. It makes
// the key pair, writes the documents beside it, and checks what anyone can read at the address.
func WriteDocuments(ctx context.Context, s *azure.Session, o Options, issuerURL string) (Issuer, error) {
	if !strings.HasPrefix(issuerURL, "https://") || strings.HasSuffix(issuerURL, "/") {
		return Issuer{}, FieldURL.Wrong("%q must be an https URL without a slash at its end, for Azure compares it letter by letter", issuerURL)
	}
	issuer := o.Resolve(s)
	issuer.URL, issuer.StorageAccount, issuer.Container = issuerURL, "", ""
	key, err := o.signer(issuer)
	if err != nil {
		return Issuer{}, err
	}
	documents, err := documents(issuerURL, &key.PublicKey)
	if err != nil {
		return Issuer{}, err
	}
	var unpublished []string
	for _, path := range []string{DiscoveryPath, KeysPath} {
		file := filepath.Join(o.KeyDirectory, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // the documents are published
			return Issuer{}, fmt.Errorf("cannot make the folder of %s: %w", path, err)
		}
		if err := wholefile.Replace(file, documents[path], 0o644); err != nil {
			return Issuer{}, err
		}
		got, status, err := s.ReadPublic(ctx, issuerURL+"/"+path)
		if err != nil || status != http.StatusOK || !bytes.Equal(bytes.TrimSpace(got), documents[path]) {
			unpublished = append(unpublished, path)
		}
	}
	if len(unpublished) > 0 {
		return issuer, fmt.Errorf("%w: upload %s from %s beneath %s so that anyone can read them, and run the command again", ErrNotPublished,
			strings.Join(unpublished, " and "), o.KeyDirectory, issuerURL)
	}
	return issuer, nil
}
