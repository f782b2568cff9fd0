package machine

import (
	"os"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/machine/guest"
)

// guestProgram is the path by which a machine finds a program: in the binaries it is given, else in the host's /usr; "" if it has none.
func guestProgram(cfg Config, name string) string {
	if cfg.Binaries != "" {
		for _, d := range []string{"", "sbin", "bin", "usr/sbin", "usr/bin"} {
			if isProgram(filepath.Join(cfg.Binaries, d, name)) {
				return filepath.Join(guest.OSDir, d, name)
			}
		}
	}
	for _, d := range []string{"/usr/sbin", "/usr/bin"} {
		if isProgram(filepath.Join(d, name)) {
			return filepath.Join(d, name)
		}
	}
	return ""
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
