// Package supervise keeps the processes of the sandbox running: it starts them
// in the order of their dependencies, restarts what ends, and finds what still
// runs when it is itself restarted.
//
// Files, all below the sandbox's directory:
//
//	parts.json        what shall run (0600)
//	state.json        what runs
//	supervisor.lock   held by the supervisor as long as it lives
//	supervisor.sock   status, reload, stop
//	logs/<part>.log   output, at most two files of 10 MB for each part
package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Part is one process.
type Part struct {
	Name  string   `json:"name"`
	Argv  []string `json:"argv"`
	Env   []string `json:"env,omitempty"`   // in addition to PATH and HOME
	After []string `json:"after,omitempty"` // parts that must be ready before the first start
	// AfterFile must exist before the first start: something that whoever
	// fills the parts has to do in between.
	AfterFile string `json:"afterFile,omitempty"`
	Ready     Probe  `json:"ready"`
	// Grace is the time between SIGTERM and SIGKILL when the sandbox goes
	// down; zero kills at once, right for what keeps no state of its own.
	Grace time.Duration `json:"grace,omitempty"`
	// Address is shown to people.
	Address string `json:"address,omitempty"`
}

func (p Part) hash() string {
	text, err := json.Marshal(p)
	if err != nil { // strings and numbers only
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Plan is the content of parts.json.
type Plan struct {
	Mode  string `json:"mode"`
	Parts []Part `json:"parts"`
	// Watcher is the command that restarts the supervisor; it is itself
	// kept alive by the supervisor.
	Watcher []string `json:"watcher"`
}

// Validate checks names and dependencies.
func (p Plan) Validate() error {
	seen := map[string]bool{}
	for _, part := range p.Parts {
		switch {
		case part.Name == "" || len(part.Argv) == 0:
			return fmt.Errorf("part %q has no name or no command", part.Name)
		case seen[part.Name]:
			return fmt.Errorf("part %q is there twice", part.Name)
		}
		// Only what came before may be waited for: no cycles are possible.
		for _, dependency := range part.After {
			if !seen[dependency] {
				return fmt.Errorf("part %q waits for %q, which is not listed before it", part.Name, dependency)
			}
		}
		seen[part.Name] = true
	}
	return nil
}

// WritePlan replaces parts.json.
func WritePlan(dir string, plan Plan) error {
	if err := plan.Validate(); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, "parts.json"), plan, 0o600)
}

// ReadPlan reads parts.json; a directory without one has an empty plan.
func ReadPlan(dir string) (Plan, error) {
	var plan Plan
	err := readJSON(filepath.Join(dir, "parts.json"), &plan)
	if errors.Is(err, fs.ErrNotExist) {
		return Plan{}, nil
	}
	return plan, err
}

// States of a part.
const (
	Waiting  = "waiting"  // for a dependency
	Starting = "starting" // runs, not ready yet
	Ready    = "ready"
	Unready  = "unready" // was ready, does not answer now
	BackOff  = "back-off"
	Stopped  = "stopped"
)

// Process identifies a process beyond the reuse of its number.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // ticks since boot
}

// PartState is what is known of one part.
type PartState struct {
	Process
	State    string    `json:"state"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`
	Message  string    `json:"message,omitempty"`
	Address  string    `json:"address,omitempty"`
	Hash     string    `json:"hash,omitempty"` // of the definition it was started with
}

// State is the content of state.json.
type State struct {
	Boot       string               `json:"boot"` // process numbers of another boot mean nothing
	Mode       string               `json:"mode"`
	Supervisor Process              `json:"supervisor"`
	Build      string               `json:"build"` // of the supervisor's program
	Started    time.Time            `json:"started"`
	Parts      map[string]PartState `json:"parts"`
}

// ReadState reads state.json. The state of an earlier boot, or none at all, is
// an empty one.
func ReadState(dir string) (State, error) {
	state := State{Parts: map[string]PartState{}}
	err := readJSON(filepath.Join(dir, "state.json"), &state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return State{}, err
	}
	if state.Boot != bootID() {
		return State{Boot: bootID(), Parts: map[string]PartState{}}, nil
	}
	return state, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON replaces a file in one step.
func writeJSON(path string, value any, mode os.FileMode) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, append(text, '\n'), mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
