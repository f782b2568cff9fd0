package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// told runs a command below the root with flags, and returns what it says while it makes a stack.
func toldWith(t *testing.T, flags ...string) (string, error) {
	t.Helper()
	root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true}
	AddFlags(root)
	root.AddCommand(&cobra.Command{Use: "make", RunE: func(cmd *cobra.Command, _ []string) error {
		step, n := OfStack(cmd), &stack.Node{ID: "n", Kind: "subnet", Name: "default"}
		step(stack.Event{Node: n, Phase: stack.Applying})
		step(stack.Event{Node: n, Phase: stack.Applied})
		step(stack.Event{Node: n, Phase: stack.Failed, Err: errors.New("no \"room\"")})
		Line(cmd)("waits for %s", "all")
		return nil
	}})
	var out bytes.Buffer
	root.SetErr(&out)
	root.SetArgs(append([]string{"make"}, flags...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// TestForms: progress is lines for people, objects for programs, nothing, or more than usual.
func TestForms(t *testing.T) {
	clock := regexp.MustCompile(`(?m)^ +\d+\.\ds  `)
	plain := "created  subnet default\nfailed   subnet default: no \"room\"\nwaits for all\n"
	for flags, want := range map[string]string{"": plain, "--progress plain": plain, "-v": "creating subnet default\n" + plain, "--verbose": "creating subnet default\n" + plain, "-q": "", "--quiet": "", "--progress none": "", "-q --progress json": ""} {
		got, err := toldWith(t, strings.Fields(flags)...)
		if got = clock.ReplaceAllString(got, ""); err != nil || got != want {
			t.Errorf("%s: %v\n%s", flags, err, got)
		}
	}
	text, err := toldWith(t, "--progress", "json")
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	for line := range strings.Lines(text) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Time.IsZero() {
			t.Errorf("%s: %v", line, err)
		}
		all = append(all, e)
	}
	if len(all) != 3 || all[0].Phase != "created" || all[0].Kind != "subnet" || all[0].Name != "default" || all[1].Message != `no "room"` || all[2].Phase != "" || all[2].Message != "waits for all" {
		t.Errorf("%+v", all)
	}
	if _, err := toldWith(t, "--progress", "jsno"); err == nil || !strings.Contains(err.Error(), "use plain, json or none; did you mean json?") {
		t.Errorf("%v", err)
	}
}
