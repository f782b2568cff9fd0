package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSandboxViolations(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, "violations", "--dir", dir); err == nil || !strings.Contains(err.Error(), "no access log") {
		t.Errorf("no log: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "azure"), 0o700); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "azure", "access.log")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(log, `{"status":200}`+"\n")
	if out, err := run(t, "violations", "--dir", dir); err != nil || out != "No violations.\n" {
		t.Errorf("%q, %v", out, err)
	}
	line := `{"status":400,"userAgent":"AZURECLI/2.45.0","violations":[{"side":"request","method":"PUT","type":"N.S/t","apiVersion":"2024-05-01","problem":"unknown property: a[2].x of T"}]}` + "\n"
	write(log, line)
	write(log+".1", line)
	out, err := run(t, "violations", "--dir", dir)
	if err == nil || !strings.Contains(err.Error(), "in 1 ways") || !strings.Contains(out, "2      request  az      PUT     N.S/t  2024-05-01   true     unknown property: a[].x of T") {
		t.Errorf("%s%v", out, err)
	}
	if out, err := run(t, "violations", "--dir", dir, "-o", "json"); err == nil || !strings.Contains(out, `"client": "az"`) || !strings.Contains(out, `"count": 2`) {
		t.Errorf("%s%v", out, err)
	}
}
