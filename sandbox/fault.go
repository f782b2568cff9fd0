package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
func AddFaults(ctx context.Context, dir string, faults ...Fault) ([]Fault, error) {
	c, err := faultClient(dir)
	if err != nil {
		return nil, err
	}
	return c.Add(ctx, faults...)
}

// ListFaults returns the rules of the running sandbox.
func ListFaults(ctx context.Context, dir string) ([]Fault, error) {
	c, err := faultClient(dir)
	if err != nil {
		return nil, err
	}
	return c.List(ctx)
}

// ClearFaults removes rules by id, or all when none is named.
func ClearFaults(ctx context.Context, dir string, ids ...string) error {
	c, err := faultClient(dir)
	if err != nil {
		return err
	}
	return c.Clear(ctx, ids...)
}

func faultClient(dir string) (*fault.Client, error) {
	c, err := config(dir)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(c.Dir, "azure", "admin.sock")
	if _, err := os.Stat(socket); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no sandbox is up in %s: start one with hypershift sandbox up, or name its directory with --dir", c.Dir)
	}
	return fault.NewClient(socket), nil
}
