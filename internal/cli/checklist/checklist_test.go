package checklist

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestForms: how checks are printed, to the letter, and what the exit status follows from.
func TestForms(t *testing.T) {
	checks := []preflight.Check{
		{Name: "credentials", Status: preflight.Pass, Detail: "x signs in"},
		{Name: "quota of standardDSv5Family", Status: preflight.Fail, Detail: "4 of 100 are left", Remedy: "ask for more: `az quota`"},
		{Name: "operator", Status: preflight.Warn, Detail: "1 of 2 pods are available", Remedy: "`hypershift logs operator`"},
		{Name: "issuer", Status: preflight.Skip, Detail: "no issuer is named", Remedy: "give --oidc-issuer-url"},
	}
	for file, form := range map[string]string{"checks.txt": "", "checks.json.txt": "json", "checks.yaml.txt": "yaml"} {
		var out bytes.Buffer
		if err := (&Flags{Output: form}).Print(&out, checks); err == nil || err.Error() != "1 of 4 checks failed" {
			t.Errorf("%s: %v", file, err)
		}
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != string(want) {
			t.Errorf("%s is not as %s has it (-update writes it anew):\n%s", form, path, out.String())
		}
	}
}
