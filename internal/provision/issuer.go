package provision

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	discoveryPath = ".well-known/openid-configuration"
	keysPath      = "openid/v1/jwks"

	// roleBlobDataContributor is the built-in role Storage Blob Data Contributor.
	roleBlobDataContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
)

// IssuerOptions describe the issuer of one hosted cluster, or of several with Shared.
type IssuerOptions struct {
	Name           string // hosted cluster; the container's name
	ResourceGroup  string // persistent group
	Location       string
	StorageAccount string // "" derives one from the subscription and group
	Shared         bool   // container named as the account: one issuer for many clusters
	KeyDirectory   string // where the key pair is, or is written
	Tags           map[string]string
}

var accountPattern = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Validate names the field that is wrong.
func (o IssuerOptions) Validate() error {
	switch {
	case o.Name == "" && !o.Shared:
		return errors.New("--name is required: it names the hosted cluster")
	case o.ResourceGroup == "":
		return errors.New("--resource-group-name is required: the persistent resource group")
	case o.StorageAccount != "" && !accountPattern.MatchString(o.StorageAccount):
		return fmt.Errorf("--storage-account-name %q must be 3 to 24 lower-case letters and digits", o.StorageAccount)
	}
	return nil
}

// Issuer is what exists once the stack is there.
type Issuer struct {
	URL            string `json:"issuerURL"`
	StorageAccount string `json:"storageAccount"`
	Container      string `json:"container"`
	PrivateKeyPath string `json:"privateKeyPath"`
	PublicKeyPath  string `json:"publicKeyPath"`
}

// AccountName derives a storage account name that is the same on every run for one group of one subscription.
func AccountName(subscriptionID, group string) string {
	sum := sha256.Sum256([]byte(subscriptionID + "/" + group))
	return "hypershift" + hex.EncodeToString(sum[:])[:12]
}

func (o IssuerOptions) resolve(s *azure.Session) Issuer {
	account := o.StorageAccount
	if account == "" {
		account = AccountName(s.SubscriptionID, o.ResourceGroup)
	}
	container := o.Name
	if o.Shared {
		container = account
	}
	return Issuer{
		URL:            s.BlobEndpoint(account) + "/" + container,
		StorageAccount: account, Container: container,
		PrivateKeyPath: filepath.Join(o.KeyDirectory, "serviceaccount-signer.private"),
		PublicKeyPath:  filepath.Join(o.KeyDirectory, "serviceaccount-signer.public"),
	}
}

// CreateIssuer makes the key pair, the account, the container and the documents, and reads the documents anonymously before it
// reports success.
func CreateIssuer(ctx context.Context, s *azure.Session, o IssuerOptions, progress func(stack.Event)) (Issuer, error) {
	if err := o.Validate(); err != nil {
		return Issuer{}, err
	}
	issuer := o.resolve(s)
	key, err := ensureKeyPair(issuer.PrivateKeyPath, issuer.PublicKeyPath)
	if err != nil {
		return Issuer{}, err
	}
	documents, err := issuerDocuments(issuer.URL, &key.PublicKey)
	if err != nil {
		return Issuer{}, err
	}
	return issuer, stack.Create(ctx, issuerNodes(s, o, issuer, documents), options(progress))
}

// PlanIssuer says what CreateIssuer would do; it writes nothing, not even a key.
func PlanIssuer(ctx context.Context, s *azure.Session, o IssuerOptions) ([]stack.Step, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	issuer := o.resolve(s)
	return stack.Plan(ctx, issuerNodes(s, o, issuer, map[string][]byte{discoveryPath: nil, keysPath: nil}))
}

func issuerNodes(s *azure.Session, o IssuerOptions, issuer Issuer, documents map[string][]byte) []*stack.Node {
	accountID := s.ResourceID(o.ResourceGroup, typeStorage, issuer.StorageAccount)
	account := resource{session: s, id: accountID, api: apiStorage,
		body: func() azure.Resource {
			return azure.Resource{Location: o.Location, Kind: "StorageV2", SKU: map[string]any{"name": "Standard_LRS"}, Tags: o.Tags,
				Properties: map[string]any{"allowBlobPublicAccess": true, "minimumTlsVersion": "TLS1_2", "supportsHttpsTrafficOnly": true}}
		},
		current: func(r *azure.Resource) bool { return r.Properties["allowBlobPublicAccess"] != false },
	}.node("account", "storage account", issuer.StorageAccount, "group")
	container := resource{session: s, id: accountID + "/blobServices/default/containers/" + issuer.Container, api: apiStorage,
		body:    func() azure.Resource { return azure.Resource{Properties: map[string]any{"publicAccess": "Container"}} },
		current: func(r *azure.Resource) bool { return r.Property("publicAccess") == "Container" },
	}.node("container", "blob container", issuer.Container, "account")
	mayWrite := assignment(s, "role", "Storage Blob Data Contributor", func(ctx context.Context) (azure.Assignment, error) {
		principal, err := s.OwnPrincipal(ctx)
		return azure.Assignment{Name: azure.AssignmentName(principal, "oidc-issuer", accountID), Scope: accountID,
			RoleGUID: roleBlobDataContributor, PrincipalID: principal}, err
	}, "account")
	nodes := []*stack.Node{group(s, "group", o.ResourceGroup, o.Location, nil, true), account, container, mayWrite}
	for _, path := range []string{discoveryPath, keysPath} {
		nodes = append(nodes, document(s, issuer, path, documents[path]))
	}
	return nodes
}

// document is the node of a blob that anyone may read; observing is the anonymous read that Entra will do.
func document(s *azure.Session, issuer Issuer, path string, content []byte) *stack.Node {
	url := issuer.URL + "/" + path
	observe := func(ctx context.Context) (stack.State, error) {
		got, status, err := fetch(ctx, url)
		switch {
		case err != nil:
			return stack.Missing, azure.Wrap("read anonymously", url, err)
		case status == http.StatusOK && bytes.Equal(got, content):
			return stack.Current, nil
		case status == http.StatusOK:
			return stack.Drifted, nil
		}
		return stack.Missing, nil
	}
	return &stack.Node{ID: path, Kind: "issuer document", Name: path, DependsOn: []string{"container", "role"},
		Observe: observe,
		Apply: func(ctx context.Context) error {
			if err := s.UploadBlob(ctx, issuer.StorageAccount, issuer.Container, path, "application/json", content); err != nil {
				return err
			}
			if state, err := observe(ctx); err != nil || state == stack.Current {
				return err
			}
			return &azure.Error{Op: "read anonymously", Resource: url, Cause: "the document was uploaded but cannot be read without signing in",
				Remedy: "allow public blob access on the storage account", Kind: azure.Terminal}
		},
		Delete: func(ctx context.Context) error {
			return s.DeleteBlob(ctx, issuer.StorageAccount, issuer.Container, path)
		}}
}

func fetch(ctx context.Context, url string) ([]byte, int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	const enough = 1 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	return body, resp.StatusCode, err
}

// issuerDocuments are the two documents that make a key pair an OpenID issuer.
func issuerDocuments(issuerURL string, key *rsa.PublicKey) (map[string][]byte, error) {
	discovery, err := json.MarshalIndent(map[string]any{
		"issuer":                                issuerURL,
		"jwks_uri":                              issuerURL + "/" + keysPath,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	keyID, err := KeyID(key)
	if err != nil {
		return nil, err
	}
	encode := base64.RawURLEncoding.EncodeToString
	keys, err := json.MarshalIndent(map[string]any{"keys": []map[string]string{{
		"use": "sig", "kty": "RSA", "kid": keyID, "alg": "RS256",
		"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
	}}}, "", "  ")
	return map[string][]byte{discoveryPath: discovery, keysPath: keys}, err
}

// KeyID is the key id that kube-apiserver derives from the same key: base64url of SHA-256 over the PKIX form.
func KeyID(key *rsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("cannot encode the public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// signerBits is the size the credential operator's tool uses for the same files.
const signerBits = 4096

// ensureKeyPair reads the pair or makes it. The private file is never readable by others.
func ensureKeyPair(privatePath, publicPath string) (*rsa.PrivateKey, error) {
	raw, err := os.ReadFile(privatePath)
	if err == nil {
		return parseSigner(privatePath, raw)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the signing key: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, signerBits)
	if err != nil {
		return nil, fmt.Errorf("cannot make the signing key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the public key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(privatePath), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the signing key: %w", err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(privatePath, private, 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the signing key: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return key, os.WriteFile(publicPath, public, 0o644)
}

func parseSigner(path string, raw []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block; it should be an RSA private key", path)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s is not an RSA private key: %w", path, err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an RSA private key", path)
	}
	return key, nil
}
