package install

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// What the table says of the flags of install is so.
func TestInstallFlagsAreRefused(t *testing.T) {
	clitest.FlagsAreRefused(t, "install", func(_ *testing.T, line []string) clitest.Made {
		_, err := installedWith(line)
		return clitest.Made{Err: err}
	})
}
