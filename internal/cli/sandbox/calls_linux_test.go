package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestSandboxCalls(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, "calls", "--dir", dir); err == nil || !strings.Contains(err.Error(), "no access log") {
		t.Errorf("no log: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "azure"), 0o700); err != nil {
		t.Fatal(err)
	}
	line := `{"plane":"arm","method":"PUT","status":201,"userAgent":"hypershift/v1","url":"https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses/ip"}` + "\n"
	for _, name := range []string{"access.log", "access.log.1"} {
		if err := os.WriteFile(filepath.Join(dir, "azure", name), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := run(t, "calls", "--dir", dir)
	for _, want := range []string{
		`(?m)^2 +hypershift +PUT +Microsoft.Network/publicIPAddresses +quota +PublicIPCountLimitReached +ask for more`,
		`(?m)^ +policy +RequestDisallowedByPolicy +`,
	} {
		if err != nil || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in %s%v", want, out, err)
		}
	}
	if out, err := run(t, "calls", "--dir", dir, "-o", "json"); err != nil || !strings.Contains(out, `"code": "PublicIPCountLimitReached"`) {
		t.Errorf("%s%v", out, err)
	}
}
