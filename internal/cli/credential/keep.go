package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// reserve is how long what is kept must live on to be handed out: a command that begins now should end with it.
const reserve = 2 * time.Minute

// Kept hands out what is kept for the same question, while it lives; else what issue makes, which it keeps for its user alone. A question that
// is empty is asked by a person, and nothing is kept for it.
func Kept(question []string, now time.Time, messages io.Writer, issue func() (*Credential, error)) (*Credential, error) {
	path, err := placeOf(question)
	if err != nil || path == "" {
		return issue()
	}
	if kept := read(path); kept != nil && kept.Ends.Sub(now) > reserve {
		return kept, nil
	}
	made, err := issue()
	if err != nil {
		return nil, err
	}
	if err := made.keep(path); err != nil {
		fmt.Fprintf(messages, "warning: the certificate is not kept, so that the next command has to ask for another: %v\n", err)
	}
	return made, nil
}

// placeOf is where the answer to a question is kept; nowhere when the user has no folder for such things.
func placeOf(question []string) (string, error) {
	if len(question) == 0 {
		return "", nil
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(question, "\x00")))
	return filepath.Join(folder, "hypershift", "credentials", hex.EncodeToString(sum[:16])+".json"), nil
}

// read is nil for what is not there, cannot be understood, or was laid open to others.
func read(path string) *Credential {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	kept, err := decode(raw)
	if err != nil {
		return nil
	}
	return kept
}

func (c *Credential) keep(path string) error {
	raw, err := c.encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return wholefile.ReplaceSecret(path, raw)
}
