package signing

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

// documentOf is the keys document of a key, as every version has written it.
func documentOf(t testing.TB, key *rsa.PublicKey) string {
	t.Helper()
	id, err := KeyID(key)
	if err != nil {
		t.Fatal(err)
	}
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	return fmt.Sprintf(`{
  "keys": [
    {
      "use": "sig",
      "kty": "RSA",
      "kid": "%s",
      "alg": "RS256",
      "n": "%s",
      "e": "%s"
    }
  ]
}`, id, number(key.N), number(big.NewInt(int64(key.E))))
}

func newKey(t testing.TB) *rsa.PublicKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return &key.PublicKey
}

func TestKeySetIsWrittenAsItAlwaysWas(t *testing.T) {
	key := newKey(t)
	set, err := (&KeySet{}).With(key)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := set.Encode(); err != nil || string(raw) != documentOf(t, key) {
		t.Errorf("%v:\n%s\nwant\n%s", err, raw, documentOf(t, key))
	}
}

func TestKeySetRefusesWhatTokensDoNotCarry(t *testing.T) {
	good := documentOf(t, newKey(t))
	kid := good[strings.Index(good, `"kid": "`)+len(`"kid": "`):]
	kid = kid[:strings.Index(kid, `"`)]
	n := good[strings.Index(good, `"n": "`)+len(`"n": "`):]
	n = n[:strings.Index(n, `"`)]
	for name, tc := range map[string]struct{ text, cue string }{
		"good":            {good, ""},
		"empty":           {`{"keys":[]}`, "empty"},
		"no document":     {`[`, "not a JSON web key set"},
		"another id":      {strings.Replace(good, kid, "x", 1), "keys[0].kid"},
		"another kind":    {`{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}`, "keys[0] is not an RSA key"},
		"unknown kind":    {`{"keys":[{"kty":"XX"}]}`, "keys[0]"},
		"no modulus":      {strings.Replace(good, n, "", 1), "keys[0]"},
		"a huge exponent": {strings.Replace(good, `"AQAB"`, `"____________"`, 1), "keys[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKeySet([]byte(tc.text))
			if (err == nil) != (tc.cue == "") || err != nil && !strings.Contains(err.Error(), tc.cue) {
				t.Errorf("%v, want %q", err, tc.cue)
			}
		})
	}
}

func FuzzKeySet(f *testing.F) {
	f.Add([]byte(documentOf(f, newKey(f))))
	f.Add([]byte(`{"keys":[{"kty":"RSA","e":"AQAB","n":"AA"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		set, err := ParseKeySet(raw)
		if err != nil {
			return
		}
		again, err := set.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseKeySet(again); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		for _, k := range set.keys {
			public := k.Key.(*rsa.PublicKey)
			if !set.Has(public) || set.Without(public).Has(public) {
				t.Fatal("the key is still there")
			}
		}
	})
}
