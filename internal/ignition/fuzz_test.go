package ignition

import (
	"path"
	"strings"
	"testing"
)

// FuzzRegistryCredentials looks for pull secrets whose entries would become files elsewhere on a node.
func FuzzRegistryCredentials(f *testing.F) {
	f.Add([]byte(`{"auths":{"quay.io/a/b":{"auth":"dTpw"},"https://index.docker.io/v1/":{"username":"u","password":"p"}}}`))
	f.Add([]byte(`{"auths":{"../../../etc/cron.d":{"auth":"dTpw"},"a//b":{"auth":"dTpw"},"a/../..":{"auth":"dTpw"}}}`))
	f.Fuzz(func(t *testing.T, secret []byte) {
		files, err := registryCredentials(secret)
		if err != nil {
			return
		}
		for _, file := range files {
			if path.Clean(file.Path) != file.Path || !strings.HasPrefix(file.Path, registryAuthDir) || path.Base(file.Path) != "basic" {
				t.Errorf("%q becomes file %q", secret, file.Path)
			}
			if file.Mode == nil || *file.Mode != 0o600 {
				t.Errorf("file %q is open to others", file.Path)
			}
		}
	})
}
