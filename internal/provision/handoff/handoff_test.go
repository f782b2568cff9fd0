package handoff

import (
	"strings"
	"testing"
)

func FuzzHandoff(f *testing.F) {
	f.Add([]byte("apiVersion: " + Version + "\nkind: Handoff\nname: demo\nissuer:\n  url: https://a.blob.core.windows.net/demo\n"))
	f.Add([]byte(`{"apiVersion":"` + Version + `","kind":"Handoff","inventory":[{"stack":"iam","kind":"x","id":"/subscriptions/s/resourceGroups/g"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := Parse(raw)
		if err == nil && (h.APIVersion != Version || h.Kind != Kind) {
			t.Fatalf("accepted %s %s", h.APIVersion, h.Kind)
		}
	})
}

func TestHandoffNamesTheMember(t *testing.T) {
	head := "apiVersion: " + Version + "\nkind: Handoff\n"
	for body, member := range map[string]string{
		"subscriptionID: x\n":                                "subscriptionID",
		"issuer:\n  url: http://plain\n":                     "issuer.url",
		"identities: {}\n":                                   "identities.clients",
		"dns:\n  zone: a.b\n  zoneID: nonsense\n":            "dns.zoneID",
		"inventory:\n- {stack: iam, kind: x, id: nowhere}\n": "inventory[0].id",
		"images: {version: v1}\n":                            "images.registry",
		"unknown: 1\n":                                       "unknown",
	} {
		if _, err := Parse([]byte(head + body)); err == nil || !strings.Contains(err.Error(), member) {
			t.Errorf("%s is not named: %v", member, err)
		}
	}
	if _, err := Parse([]byte("apiVersion: other/v9\nkind: Handoff\n")); err == nil {
		t.Error("another version is accepted")
	}
}
