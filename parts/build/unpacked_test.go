package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What lies in the cache is taken as it is, whoever has put it there; what is not there needs the tools, and says what to do without them.
func TestUnpackedIsTakenFromTheCache(t *testing.T) {
	pinned, err := toolSet.locked(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	u := debianTools
	u.tools = []string{"no-such-tool-anywhere"}
	u.lacking = func(tool, dir string) error { return errors.New(tool + " into " + dir) }
	u.fill = func(context.Context, []string, string, *tally) error { return errors.New("filled") }
	cache := t.TempDir()
	dir := filepath.Join(cache, "debian", debianHash(pinned))
	if _, err := u.get(t.Context(), cache, nil); err == nil || err.Error() != "no-such-tool-anywhere into "+dir {
		t.Errorf("without the tool: %v", err)
	}
	for _, program := range debianPrograms {
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		touch(t, filepath.Join(dir, "bin", program))
	}
	var states []string
	got, err := u.get(t.Context(), cache, func(e Event) { states = append(states, e.Program+" "+e.State) })
	if err != nil || got != dir || strings.Join(states, ", ") != "debian "+Cached {
		t.Errorf("%s, %v, %q", got, err, states)
	}
}
