package azureflags

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// credentials are a file of the test's.
func credentials(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "azure-credentials.json")
	content := `{"subscriptionId":"` + provisiontest.Subscription + `","tenantId":"` + provisiontest.Client + `","clientId":"` + provisiontest.Client + `","clientSecret":"PRECIOUS"}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ran is what a command did and printed.
type ran struct {
	planned, worked bool
	out             string
	err             error
}

func run(t *testing.T, f Flags, plan []stack.Step, workErr error) ran {
	t.Helper()
	var r ran
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetContext(t.Context())
	r.err = WithPlan(cmd, &f, func(context.Context, *azure.Session) ([]stack.Step, error) {
		r.planned = true
		return plan, workErr
	}, func(context.Context, *azure.Session) (map[string]string, error) {
		r.worked = true
		return map[string]string{"made": "it"}, workErr
	}, nil)
	r.out = out.String()
	return r
}

// A dry run plans and never works, a run works and never plans, and what is wrong with credentials, cloud or format is found before either.
func TestADryRunDoesNothing(t *testing.T) {
	steps := []stack.Step{{Kind: "virtual network", Name: "demo", Action: "create"}}
	good := credentials(t)
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"subscriptionId":"`+provisiontest.Subscription+`","clientSecret":"PRECIOUS"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	for _, tc := range []struct {
		name            string
		flags           Flags
		err             error
		planned, worked bool
		out, says       string
	}{
		{name: "a plan", flags: Flags{Credentials: good, DryRun: true}, planned: true, out: "ACTION  KIND             NAME\ncreate  virtual network  demo\n"},
		{name: "a plan for a program", flags: Flags{Credentials: good, DryRun: true, Output: "json"}, planned: true, out: `"action": "create"`},
		{name: "a plan that is refused", flags: Flags{Credentials: good, DryRun: true}, err: refused, planned: true, says: "refused"},
		{name: "a run", flags: Flags{Credentials: good}, worked: true},
		{name: "a run for a program", flags: Flags{Credentials: good, Output: "yaml"}, worked: true, out: "made: it"},
		{name: "a run that fails", flags: Flags{Credentials: good, Output: "yaml"}, err: refused, worked: true, says: "refused"},
		{name: "another format", flags: Flags{Credentials: good, Output: "xml"}, says: "xml"},
		{name: "no file", flags: Flags{Credentials: bad + "x"}, says: "bad.jsonx"},
		{name: "a file without a tenant", flags: Flags{Credentials: bad}, says: "tenantId"},
		{name: "another cloud", flags: Flags{Credentials: good, Cloud: "Mars"}, says: "Mars"},
	} {
		r := run(t, tc.flags, steps, tc.err)
		if r.planned != tc.planned || r.worked != tc.worked || !strings.Contains(r.out, tc.out) || tc.out == "" && r.out != "" {
			t.Errorf("%s: planned %v, worked %v, printed %q", tc.name, r.planned, r.worked, r.out)
		}
		if (r.err != nil) != (tc.says != "") || r.err != nil && (!strings.Contains(r.err.Error(), tc.says) || strings.Contains(r.err.Error(), "PRECIOUS")) {
			t.Errorf("%s: error %v", tc.name, r.err)
		}
	}
}

// What a destroy has removed is its result: not what it has kept or failed at. A program that reads it finds a list in any case.
func TestRemovals(t *testing.T) {
	var r Removals
	var f Flags
	if r.Steps() == nil {
		t.Error("nothing is no list")
	}
	passed := 0
	var mu sync.Mutex
	note := r.Note(func(stack.Event) { mu.Lock(); passed++; mu.Unlock() })
	var wg sync.WaitGroup
	phases := []stack.Phase{stack.Deleting, stack.Deleted, stack.Kept, stack.Failed, stack.Waiting, stack.Deleted}
	for _, phase := range phases {
		wg.Go(func() { note(stack.Event{Node: &stack.Node{Kind: "disk", Name: "d"}, Phase: phase}) })
	}
	wg.Wait()
	if steps := r.Steps(); len(steps) != 2 || steps[0] != (stack.Step{Kind: "disk", Name: "d", Action: "deleted"}) || passed != len(phases) {
		t.Errorf("%v, %d events were passed on", steps, passed)
	}
	var out bytes.Buffer
	if err := f.PrintNothing(&out); err != nil || out.Len() != 0 {
		t.Errorf("to a person: %q, %v", out.String(), err)
	}
	f.Output = "json"
	if err := f.PrintNothing(&out); err != nil || strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("to a program: %q, %v", out.String(), err)
	}
}

// opened is a hand-off at the path, as a command opens it.
func opened(t *testing.T, path string) *HandoffFile {
	t.Helper()
	h := &HandoffFile{Path: path}
	if err := h.OpenWritten(); err != nil {
		t.Fatal(err)
	}
	return h
}

// The file is of one cluster, one subscription and one cloud, and one command writes it at a time: each of two would lose what the other records.
func TestTheHandoffIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	s := provisiontest.Session(t)
	flags := &Flags{Cloud: "AzurePublicCloud", Location: "eastus"}
	first, second := opened(t, path), opened(t, path)
	if err := first.Begin(s, flags, "demo", "demo-x"); err != nil {
		t.Fatal(err)
	}
	if err := second.Begin(s, flags, "demo", "demo-x"); err == nil || !strings.Contains(err.Error(), "another command is at work") {
		t.Errorf("two at once: %v", err)
	}
	if err := first.Save(nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if err := second.Begin(s, flags, "demo", "demo-x"); err == nil || !strings.Contains(err.Error(), "has written the hand-off file") {
		t.Errorf("one that has read it before: %v", err)
	}
	for name, tc := range map[string]struct {
		name, infraID string
		flags         Flags
		says          string
	}{
		"another cluster":        {"other", "demo-x", *flags, "name demo, not other"},
		"another infrastructure": {"demo", "other-x", *flags, "infraID demo-x, not other-x"},
		"another cloud":          {"demo", "demo-x", Flags{Cloud: "AzureChinaCloud"}, "cloud"},
		"another region":         {"demo", "demo-x", Flags{Location: "westeurope"}, "location"},
	} {
		h := opened(t, path)
		if err := h.Begin(s, &tc.flags, tc.name, tc.infraID); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		again := opened(t, path) // a refusal holds nothing
		if err := again.Begin(s, flags, "demo", "demo-x"); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
		again.Release()
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

// A run that failed before it made anything leaves no file where there was none, and the former one as it was; one that made something leaves what
// a destroy needs.
func TestAFailedRunLeavesWhatItMade(t *testing.T) {
	s := provisiontest.Session(t)
	refused := errors.New("refused")
	o := infra.Options{Name: "demo", InfraID: "demo-x", BaseDomain: "example.com", Location: "eastus"}
	made := stack.Event{Node: &stack.Node{Kind: "resource group", Resource: s.GroupID("demo-demo-x"), Delete: func(context.Context) error { return nil }}, Phase: stack.Applied, Missing: true}
	for name, tc := range map[string]struct {
		before bool // there is a file
		made   bool
		exists bool
	}{
		"nothing, new": {}, "nothing, former": {before: true, exists: true}, "something, new": {made: true, exists: true}, "something, former": {before: true, made: true, exists: true},
	} {
		path := filepath.Join(t.TempDir(), "demo.yaml")
		var former []byte
		if tc.before {
			h := &handoff.File{APIVersion: handoff.Version, Kind: handoff.Kind, Name: "demo"}
			if err := h.Write(path); err != nil {
				t.Fatal(err)
			}
			former, _ = os.ReadFile(path)
		}
		h := opened(t, path)
		if err := h.Begin(s, &Flags{Location: "eastus"}, "demo", "demo-x"); err != nil {
			t.Fatal(err)
		}
		h.BeginInfra(s, o)
		progress := h.KeepTrue(infra.Stack, func(stack.Event) {})
		if tc.made {
			progress(made)
		}
		if err := h.Abandon(refused); !errors.Is(err, refused) {
			t.Errorf("%s: %v", name, err)
		}
		raw, err := os.ReadFile(path)
		if (err == nil) != tc.exists {
			t.Fatalf("%s: %v", name, err)
		}
		if tc.before && !tc.made && !bytes.Equal(raw, former) {
			t.Errorf("%s: the file is\n%s\nand was\n%s", name, raw, former)
		}
		if tc.made {
			left := opened(t, path)
			var destroy infra.DestroyOptions
			left.Demolish(&destroy)
			if len(destroy.Vouched) != 1 || destroy.Name != "demo" || destroy.InfraID != "demo-x" || destroy.ResourceGroup != "demo-demo-x" {
				t.Errorf("%s: a destroy knows %+v", name, destroy)
			}
		}
		if left, _ := filepath.Glob(path + ".lock"); len(left) != 0 {
			t.Errorf("%s: it is still held", name)
		}
	}
}

// A flag that is typed wins over the file; what is not typed is the file's, and the default where neither says anything.
func TestTheHandoffCompletesFlags(t *testing.T) {
	var flags Flags
	var name, infraID string
	cmd := &cobra.Command{}
	flags.Add(cmd)
	cmd.Flags().StringVar(&name, "name", "", "")
	cmd.Flags().StringVar(&infraID, "infra-id", "", "")
	if err := cmd.Flags().Parse([]string{"--location", "westus3", "--name", "typed"}); err != nil {
		t.Fatal(err)
	}
	h := &HandoffFile{File: &handoff.File{Name: "demo", InfraID: "demo-x", Location: "westeurope", Cloud: "AzureUSGovernmentCloud"}}
	h.Complete(cmd, &flags, &name, &infraID)
	if name != "typed" || infraID != "demo-x" || flags.Location != "westus3" || flags.Cloud != "AzureUSGovernmentCloud" {
		t.Errorf("%s, %s, %+v", name, infraID, flags)
	}
	h.File = &handoff.File{}
	h.Complete(cmd, &flags, nil, nil)
	if flags.Cloud != "AzureUSGovernmentCloud" {
		t.Errorf("an empty file empties %+v", flags)
	}
}

// Paths of the file are relative to its own folder, so that it leads to the same files from everywhere; what is named from the root stays so.
func TestPathsOfTheHandoff(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	h := &HandoffFile{Path: filepath.Join("clusters", "demo.yaml"), File: &handoff.File{}}
	for typed, onFile := range map[string]string{"azure_mgmt.json": "../azure_mgmt.json", "clusters/azure_mgmt.json": "azure_mgmt.json", filepath.Join(dir, "a.json"): filepath.Join(dir, "a.json"), "": ""} {
		h.RecordDNS(&dns.Output{Zone: "z.example.com", CredentialsPath: typed})
		if got := h.DNS.CredentialsPath; got != onFile {
			t.Errorf("%s is on file as %s, want %s", typed, got, onFile)
		}
		located, err := filepath.Abs(h.Locate(h.DNS.CredentialsPath))
		want, wantErr := filepath.Abs(typed)
		if typed != "" && (err != nil || wantErr != nil || located != want) {
			t.Errorf("%s is found at %s", typed, located)
		}
	}
	if got := (&HandoffFile{}).Locate("a"); got != "a" {
		t.Errorf("without a file: %s", got)
	}
	if _, err := h.IssuerHandoff(issuer.Options{}, issuer.Issuer{PrivateKeyPath: filepath.Join(dir, "gone")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an issuer whose key is gone: %v", err)
	}
}

// A file that cannot be read or written is refused with the flag before anything is made; one that has to be there is looked for.
func TestAHandoffThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("kind: Pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&HandoffFile{Path: broken}).OpenWritten(); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("another kind: %v", err)
	}
	if err := (&HandoffFile{Path: filepath.Join(dir, "no", "folder.yaml")}).OpenWritten(); err == nil || !strings.Contains(err.Error(), "--handoff") {
		t.Errorf("no folder: %v", err)
	}
	if err := (&HandoffFile{Path: filepath.Join(dir, "gone.yaml")}).MustOpen(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that has to be there: %v", err)
	}
	if h := (&HandoffFile{}); h.MustOpen() != nil || h.Save(nil) != nil || h.Lock() != nil {
		t.Error("without the flag there is something to hold")
	}
}
