package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// Fault is a rule by which requests to the embedded Azure go wrong.
type Fault = fault.Rule

// FaultDuration is a duration of a Fault.
type FaultDuration = fault.Duration

// FaultPresets are the named faults, with what each does.
func FaultPresets() map[string]string {
	out := map[string]string{}
	for name, p := range fault.Presets() {
		out[name] = p.Summary
	}
	return out
}

// AddFaults gives rules to the running sandbox and returns them complete.
func AddFaults(ctx context.Context, dir string, faults ...Fault) (added []Fault, err error) {
	err = withFaults(dir, func(c *fault.Client) error {
		added, err = c.Add(ctx, faults...)
		return err
	})
	return added, err
}

// ListFaults returns the rules of the running sandbox.
func ListFaults(ctx context.Context, dir string) (faults []Fault, err error) {
	err = withFaults(dir, func(c *fault.Client) error {
		faults, err = c.List(ctx)
		return err
	})
	return faults, err
}

// ClearFaults removes rules by id, or all when none is named.
func ClearFaults(ctx context.Context, dir string, ids ...string) error {
	return withFaults(dir, func(c *fault.Client) error { return c.Clear(ctx, ids...) })
}

func withFaults(dir string, do func(*fault.Client) error) error {
	c, err := config(dir)
	if err != nil {
		return err
	}
	err = do(fault.NewClient(filepath.Join(c.Dir, "azure", "admin.sock")))
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no sandbox is up in %s: start one with hypershift sandbox up, or name its directory with --dir", c.Dir)
	}
	return err
}
