// Package sandbox is an offline Azure with a management cluster on one Linux
// machine. It is the only door to the packages below it.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// Modes of a sandbox.
const (
	modeAzure = "azure-only"
	modeFull  = "full"
)

// Options of Up.
type Options struct {
	Dir       string // "" is DefaultDir
	Cache     string // "" is the parts' default cache
	AzureOnly bool
	// Management is the kind of the management cluster, OpenShift or Plain; "" is what it was, OpenShift at first.
	Management string
	// ManagementNodes is how many nodes the management cluster has; 0 is what it had, 1 at first.
	ManagementNodes int
	// AzureProfile is how long what Azure has accepted takes to show; "" is what runs, realistic at first.
	AzureProfile string
	Version      string // of the operator's image
	// Step is told what begins and, with the time it took, what ended.
	Step func(Step)
	// Changes is told what is changed on the machine outside of the sandbox's directory, before it is; nothing where it is so already.
	Changes func([]string)
}

// Step is progress.
type Step struct {
	Name    string
	Done    bool
	Detail  string        // while it runs: what it is at
	Elapsed time.Duration // when it is done
}

// DefaultDir is where a sandbox lives unless told otherwise.
func DefaultDir() string {
	if dir := os.Getenv("HYPERSHIFT_SANDBOX_DIR"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/hypershift-sandbox"
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(os.Getenv("HOME"), ".local", "state")
	}
	return filepath.Join(state, "hypershift-sandbox")
}

// config finds the files of a sandbox.
func config(dir string) (cluster.Config, error) {
	if dir == "" {
		dir = DefaultDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return cluster.Config{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return cluster.Config{}, err
	}
	c := cluster.Config{Dir: dir, Self: self}
	kind, err := readManagement(c)
	if err != nil {
		return c, err
	}
	c.Plain = kind == Plain
	c.Nodes, err = readNodes(c)
	return c, err
}

// lockDir lets one Up or Down work at a time.
func lockDir(dir string) (func(), error) {
	file, err := os.OpenFile(filepath.Join(dir, "up.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another sandbox up or down works in %s: wait for it to end", dir)
	}
	return func() { _ = file.Close() }, nil
}

// Endpoint is an address that people may want to know.
type Endpoint struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Status is what runs.
type Status struct {
	Dir       string                         `json:"dir"`
	Mode      string                         `json:"mode"`
	Running   bool                           `json:"running"`
	Ready     bool                           `json:"ready"`
	Since     time.Time                      `json:"since,omitzero"`
	PID       int                            `json:"supervisor,omitempty"`
	Parts     map[string]supervise.PartState `json:"parts"`
	Endpoints []Endpoint                     `json:"endpoints,omitempty"`
	AccessLog string                         `json:"accessLog"`
}

// GetStatus tells what runs in a directory; nothing is not an error.
func GetStatus(ctx context.Context, dir string) (Status, error) {
	c, err := config(dir)
	if err != nil {
		return Status{}, err
	}
	status := Status{Dir: c.Dir, AccessLog: filepath.Join(c.Dir, "azure", "access.log"), Parts: map[string]supervise.PartState{}}
	state, err := supervise.Query(ctx, c.Dir)
	if errors.Is(err, supervise.ErrDown) {
		return status, nil
	}
	if err != nil {
		return status, err
	}
	status.Running, status.Ready = true, true
	status.Mode, status.Since, status.PID, status.Parts = state.Mode, state.Started, state.Supervisor.PID, state.Parts
	for _, part := range state.Parts {
		status.Ready = status.Ready && part.State == supervise.Ready
	}
	status.Endpoints = []Endpoint{{"Azure (HTTPS proxy)", names.LocalProxyURL}}
	if state.Mode == modeFull {
		status.Endpoints = append(status.Endpoints, Endpoint{"Azure (HTTPS proxy for pods)", names.ProxyURL},
			Endpoint{"management API server", names.APIURL}, Endpoint{"registry (quay.io)", "https://" + names.RegistryAddr},
			Endpoint{"registry of your own (" + names.OwnRegistryHost + ")", "https://" + names.OwnRegistryAddr})
	}
	if state.Mode == modeFull && !c.Plain {
		status.Endpoints = append(status.Endpoints, Endpoint{"routes", "https://*." + names.AppsDomain})
	}
	return status, nil
}

// Down stops everything and removes what it left on the host. The data stay
// unless purge is set.
func Down(ctx context.Context, dir string, purge bool, step func(Step)) error {
	c, err := config(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := lockDir(c.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	p := newProgress(step)
	if err := stopAll(ctx, c, purge, p); err != nil {
		return err
	}
	if purge {
		return p.run("remove "+c.Dir, func() error { return os.RemoveAll(c.Dir) })
	}
	return nil
}

// stopAll ends everything; without purge it leaves the data.
func stopAll(ctx context.Context, c cluster.Config, purge bool, p *progress) error {
	machines := haltMachines
	if purge {
		machines = removeMachines
	}
	err := p.run("stop processes", func() error { return supervise.Stop(ctx, c.Dir) })
	if err != nil {
		return err
	}
	// What another sandbox has on this machine is not ours to remove.
	if os.Geteuid() == 0 && c.OtherOwner() == "" {
		err = p.run("clean up the host", func() error { return errors.Join(machines(ctx, c), c.Teardown(ctx)) })
	}
	for _, name := range []string{"state.json", "parts.json", "supervisor.sock", "supervisor.lock", "env.json"} {
		_ = os.Remove(filepath.Join(c.Dir, name))
	}
	return err
}
