package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/firewall"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// The addresses of the sandbox are fixed, so a machine has one. Whose it is
// stands in a file that a reboot removes, as it does all that it is about.
const ownerFile = "/run/hypershift-sandbox/owner"

// claim makes this sandbox the machine's.
func (c Config) claim() error {
	if err := os.MkdirAll(filepath.Dir(ownerFile), 0o755); err != nil {
		return err
	}
	return wholefile.WriteIfChanged(ownerFile, []byte(c.Dir), 0o644)
}

// OtherOwner returns the directory of another sandbox that has the machine's
// network, or "".
func (c Config) OtherOwner() string {
	text, err := os.ReadFile(ownerFile)
	if err != nil || string(text) == c.Dir {
		return ""
	}
	if _, err := os.Stat(string(text)); errors.Is(err, os.ErrNotExist) {
		return "" // it was removed by hand
	}
	return string(text)
}

// TakeEdge makes the edge, closed to others.
func (c Config) TakeEdge(ctx context.Context) error {
	if other := c.OtherOwner(); other != "" {
		return fmt.Errorf("the sandbox in %s has this machine's network", other)
	}
	if err := c.claim(); err != nil {
		return err
	}
	forwards, err := c.forwardedBefore()
	if err != nil {
		return err
	}
	if err := firewall.KeepStrangersOut(ctx, forwards); err != nil {
		return err
	}
	return ensureEdge()
}
