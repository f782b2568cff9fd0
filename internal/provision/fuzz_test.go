package provision

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
)

func FuzzKeySet(f *testing.F) {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		f.Fatal(err)
	}
	documents, err := issuerDocuments("https://a.blob.core.windows.net/c", &key.PublicKey)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(documents[keysPath])
	f.Add([]byte(`{"keys":[{"kty":"RSA","e":"AQAB","n":"AA"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		set, err := ParseKeySet(raw)
		if err != nil {
			return
		}
		again, err := set.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseKeySet(again); err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		for _, k := range set.Keys {
			public, err := k.public()
			if err != nil {
				t.Fatal(err)
			}
			without, err := set.without(public)
			if err != nil || without.has(public) {
				t.Fatalf("the key is still there: %v", err)
			}
		}
	})
}

func FuzzHandoff(f *testing.F) {
	f.Add([]byte("apiVersion: " + HandoffVersion + "\nkind: Handoff\nname: demo\nissuer:\n  url: https://a.blob.core.windows.net/demo\n"))
	f.Add([]byte(`{"apiVersion":"` + HandoffVersion + `","kind":"Handoff","inventory":[{"stack":"iam","kind":"x","id":"/subscriptions/s/resourceGroups/g"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := ParseHandoff(raw)
		if err == nil && (h.APIVersion != HandoffVersion || h.Kind != HandoffKind) {
			t.Fatalf("accepted %s %s", h.APIVersion, h.Kind)
		}
	})
}

func TestHandoffNamesTheMember(t *testing.T) {
	head := "apiVersion: " + HandoffVersion + "\nkind: Handoff\n"
	for body, member := range map[string]string{
		"subscriptionID: x\n":                                "subscriptionID",
		"issuer:\n  url: http://plain\n":                     "issuer.url",
		"identities: {}\n":                                   "identities.clients",
		"dns:\n  zone: a.b\n  zoneID: nonsense\n":            "dns.zoneID",
		"inventory:\n- {stack: iam, kind: x, id: nowhere}\n": "inventory[0].id",
		"unknown: 1\n":                                       "unknown",
	} {
		if _, err := ParseHandoff([]byte(head + body)); err == nil || !strings.Contains(err.Error(), member) {
			t.Errorf("%s is not named: %v", member, err)
		}
	}
	if _, err := ParseHandoff([]byte("apiVersion: other/v9\nkind: Handoff\n")); err == nil {
		t.Error("another version is accepted")
	}
}
