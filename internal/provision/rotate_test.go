package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
)

func TestOneRotationPerFolder(t *testing.T) {
	dir := t.TempDir()
	release, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := RotateOptions{Issuer: issuer.Options{Name: "demo", ResourceGroup: "os4-common", KeyDirectory: dir}, TokenLifetime: time.Hour}
	if _, err := RotateIssuer(t.Context(), provisiontest.Session(t), o); err == nil || !strings.Contains(err.Error(), "another command is changing the keys") {
		t.Errorf("a second rotation: %v", err)
	}
	release()
	if release, err = lockFolder(dir); err != nil {
		t.Fatal(err)
	}
	release()
}
