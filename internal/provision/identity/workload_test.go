package identity

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
)

func allButKMS() *WorkloadIdentities {
	w := &WorkloadIdentities{}
	for _, c := range Components {
		if c.Key != "kms" {
			w.Set(c.Key, provisiontest.Client)
		}
	}
	return w
}

func TestIdentitiesFile(t *testing.T) {
	raw, err := json.MarshalIndent(allButKMS(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(raw), "{\n  \"imageRegistry\": {\n    \"clientID\": \""+provisiontest.Client) || strings.HasSuffix(string(raw), "\n") {
		t.Errorf("not the documented form:\n%s", raw)
	}
	if _, err := ParseWorkloadIdentities(raw); err != nil {
		t.Error(err)
	}
	if _, err := ParseWorkloadIdentities([]byte(strings.Replace(string(raw), provisiontest.Client, "x", 1))); err == nil || !strings.Contains(err.Error(), "imageRegistry.clientID") {
		t.Errorf("the error does not name the member: %v", err)
	}
}

func FuzzWorkloadIdentities(f *testing.F) {
	f.Add([]byte(`{"disk":{"clientID":"` + provisiontest.Client + `"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := ParseWorkloadIdentities(raw)
		if err != nil {
			return
		}
		for _, key := range requiredMembers {
			if !azure.IsUUID(w.Get(key)) {
				t.Fatalf("accepted without %s", key)
			}
		}
	})
}
