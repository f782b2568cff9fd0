package signing

import (
	"crypto/rsa"
	"os"
	"path/filepath"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

func TestSigningKeyIsMadeOnceAndIsPrivate(t *testing.T) {
	dir := t.TempDir()
	private, public := filepath.Join(dir, "serviceaccount-signer.private"), filepath.Join(dir, "serviceaccount-signer.public")
	first, err := EnsurePair(private, public)
	if err != nil {
		t.Fatal(err)
	}
	second, err := EnsurePair(private, public)
	if err != nil || !first.Equal(second) {
		t.Errorf("a second run made another key: %v", err)
	}
	if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the private key: %v, %v", info.Mode(), err)
	}
}

// Two commands that make the key of one folder at once go on with one key, and the loser does not replace it.
func TestSigningKeyIsMadeByOneOfTwo(t *testing.T) {
	dir := t.TempDir()
	private, public := filepath.Join(dir, "keys", "a.private"), filepath.Join(dir, "keys", "a.public")
	keys := make(chan *rsa.PrivateKey, 2)
	for range 2 {
		go func() {
			key, err := makePrivate(private) // as after each has found none
			if err == nil {
				_, err = EnsurePair(private, public)
			}
			if err != nil {
				t.Error(err)
			}
			keys <- key
		}()
	}
	one, other := <-keys, <-keys
	kept, err := ReadPair(private, public)
	if err != nil || one == nil || other == nil || !one.Equal(other) || !kept.Equal(one) {
		t.Errorf("two keys were made for one file: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(private)); err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestReadingAKeyPairWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	private, public := filepath.Join(dir, "a.private"), filepath.Join(dir, "a.public")
	if key, err := ReadPair(private, public); key != nil || err != nil || wholefile.Exists(dir) {
		t.Errorf("%v, %v; folder made: %v", key, err, wholefile.Exists(dir))
	}
	if _, err := makePrivate(private); err != nil {
		t.Fatal(err)
	}
	if key, err := ReadPair(private, public); key == nil || err != nil || wholefile.Exists(public) {
		t.Errorf("%v, %v; public file made: %v", key, err, wholefile.Exists(public))
	}
}
