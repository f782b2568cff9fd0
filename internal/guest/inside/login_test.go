package inside

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// TestPasswordHash: a hash stays as long as it is of the password, whoever made it, and gives way to one that is.
func TestPasswordHash(t *testing.T) {
	p := &passwordHash{}
	of := func(password string, have []byte) []byte {
		t.Helper()
		hash, err := p.of([]byte(password), have)
		if err != nil || bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil {
			t.Fatalf("%s is not of %s: %v", hash, password, err)
		}
		return hash
	}
	first := of("one", nil)
	if again := of("one", nil); !bytes.Equal(first, again) {
		t.Error("one password, two hashes")
	}
	if after := of("one", []byte("something else")); !bytes.Equal(first, after) {
		t.Error("what somebody wrote over it is not replaced by what was there")
	}
	p = &passwordHash{}
	began, dear := time.Now(), bytes.Replace(first, []byte("$10$"), []byte("$31$"), 1)
	if after := of("one", dear); bytes.Equal(after, dear) || time.Since(began) > time.Minute {
		t.Errorf("a hash that takes days to compare is compared: %s", after)
	}
	p = &passwordHash{}
	if after := of("one", first); !bytes.Equal(first, after) {
		t.Error("a program that starts does not keep the hash")
	}
	if second := of("two", first); bytes.Equal(first, second) {
		t.Error("another password has the same hash")
	}
	if _, err := p.of(bytes.Repeat([]byte("a"), 73), nil); err == nil {
		t.Error("a password that cannot be hashed is none")
	}
}
