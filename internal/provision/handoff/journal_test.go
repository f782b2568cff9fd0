package handoff

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func armID(name string) string {
	return "/subscriptions/11111111-2222-4333-8444-555555555555/resourceGroups/" + name
}

func journalOf(t *testing.T, path string) (*File, *Journal) {
	t.Helper()
	h, err := ReadOrNew(path)
	if err != nil {
		t.Fatal(err)
	}
	return h, h.Journal(infra.Stack, path, func(stack.Event) {})
}

func deletableNode(id string) *stack.Node {
	return &stack.Node{ID: id, Kind: "resource group", Resource: armID(id), Delete: func(context.Context) error { return nil }}
}

// TestJournalIsAheadOfTheWrite runs a stack whose every write looks whether it is on record already: a process that ends in a write
// then leaves its trace.
func TestJournalIsAheadOfTheWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	_, j := journalOf(t, path)
	var nodes []*stack.Node
	for i := range 40 {
		n := deletableNode(fmt.Sprintf("g%d", i))
		n.Observe = func(context.Context) (stack.State, error) { return stack.Missing, nil }
		n.Apply = func(context.Context) error {
			onFile, err := Read(path)
			if err != nil {
				return err
			}
			for _, id := range onFile.Made(infra.Stack) {
				if id == n.Resource {
					return nil
				}
			}
			return fmt.Errorf("%s is written before it is on record", n.ID)
		}
		if i > 0 && i%3 == 0 {
			n.DependsOn = []string{fmt.Sprintf("g%d", i-3)}
		}
		nodes = append(nodes, n)
	}
	if err := stack.Create(context.Background(), nodes, stack.Options{Progress: j.Progress}); err != nil {
		t.Fatal(err)
	}
	if onFile, err := Read(path); err != nil || len(onFile.Inventory) != len(nodes) {
		t.Errorf("%d resources on file, want %d; %v", len(onFile.Inventory), len(nodes), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := stack.Destroy(context.Background(), nodes, stack.Options{Progress: j.Progress}); err != nil {
		t.Fatal(err)
	}
	if onFile, err := Read(path); err != nil || len(onFile.Inventory) != 0 {
		t.Errorf("%d resources are left on file; %v", len(onFile.Inventory), err)
	}
}

// Only what a stack has made is its own: not what it found and changed, not what it never removes.
func TestJournalRecordsOnlyOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	h, j := journalOf(t, path)
	persistent := deletableNode("persistent")
	persistent.Delete = nil
	for _, e := range []stack.Event{
		{Node: deletableNode("changed"), Phase: stack.Applying}, {Node: deletableNode("changed"), Phase: stack.Applied},
		{Node: persistent, Phase: stack.Applied, Missing: true}, {Node: deletableNode("kept"), Phase: stack.Kept},
		{Node: &stack.Node{ID: "document", Delete: persistent.Delete}, Phase: stack.Applied, Missing: true},
		{Node: deletableNode("failed"), Phase: stack.Applying, Missing: true}, {Node: deletableNode("failed"), Phase: stack.Failed},
	} {
		j.Progress(e)
	}
	if made := h.Made(infra.Stack); len(made) != 1 || made[0] != armID("failed") {
		t.Errorf("on record: %v; want only what may exist because of us", made)
	}
	inside := deletableNode("g")
	inside.Resource = armID("GROUP") + "/providers/Microsoft.Network/virtualNetworks/v"
	j.Progress(stack.Event{Node: inside, Phase: stack.Applied, Missing: true})
	beside := deletableNode("group2")
	j.Progress(stack.Event{Node: beside, Phase: stack.Applied, Missing: true})
	j.Progress(stack.Event{Node: deletableNode("group"), Phase: stack.Deleted})
	if made := h.Made(infra.Stack); len(made) != 2 {
		t.Errorf("on record: %v; a group takes what is in it along, and nothing else", made)
	}
}

// answer is Azure's to a call for a resource.
func answer(method string, status int, id string) error {
	return failure.Wrap("create", id, &azcore.ResponseError{StatusCode: status,
		RawResponse: &http.Response{StatusCode: status, Body: http.NoBody, Request: &http.Request{Method: method}}})
}

// What Azure refused to make is not ours when somebody else makes it later; what may have been made is.
func TestJournalForgetsOnlyWhatWasRefused(t *testing.T) {
	n := deletableNode("g")
	applying := stack.Event{Node: n, Phase: stack.Applying, Missing: true}
	waiting := func(err error) stack.Event { return stack.Event{Node: n, Phase: stack.Waiting, Err: err} }
	failed := func(err error) stack.Event { return stack.Event{Node: n, Phase: stack.Failed, Err: err} }
	refusal, busy := answer(http.MethodPut, http.StatusForbidden, n.Resource), answer(http.MethodPut, http.StatusServiceUnavailable, n.Resource)
	for name, tc := range map[string]struct {
		known  bool
		events []stack.Event
		ours   bool
	}{
		"refused":                     {false, []stack.Event{applying, failed(refusal)}, false},
		"refused twice":               {false, []stack.Event{applying, waiting(refusal), applying, failed(refusal)}, false},
		"refused, known before":       {true, []stack.Event{applying, failed(refusal)}, true},
		"refused after a lost answer": {false, []stack.Event{applying, waiting(busy), applying, failed(refusal)}, true},
		"lost answer":                 {false, []stack.Event{applying, failed(failure.Wrap("create", n.Resource, io.ErrUnexpectedEOF))}, true},
		"busy":                        {false, []stack.Event{applying, failed(busy)}, true},
		"conflict":                    {false, []stack.Event{applying, failed(answer(http.MethodPut, http.StatusConflict, n.Resource))}, true},
		"throttled":                   {false, []stack.Event{applying, failed(answer(http.MethodPut, http.StatusTooManyRequests, n.Resource))}, true},
		"too slow":                    {false, []stack.Event{applying, failed(answer(http.MethodPut, http.StatusRequestTimeout, n.Resource))}, true},
		"no right to look afterwards": {false, []stack.Event{applying, failed(answer(http.MethodGet, http.StatusForbidden, n.Resource))}, true},
		"another write refused":       {false, []stack.Event{applying, failed(answer(http.MethodPut, http.StatusForbidden, n.Resource+"/x"))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "demo.yaml")
			h, j := journalOf(t, path)
			if tc.known {
				h.add(Made{Stack: infra.Stack, ID: n.Resource})
			}
			for _, e := range tc.events {
				j.Progress(e)
			}
			if ours := len(h.Inventory) > 0; ours != tc.ours {
				t.Errorf("on record as ours: %v", ours)
			}
			if onFile, err := ReadOrNew(path); err != nil || !tc.known && len(onFile.Inventory) != len(h.Inventory) {
				t.Errorf("on file: %+v, %v", onFile, err)
			}
		})
	}
}

// Many steps at once write one file.
func TestJournalAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	_, j := journalOf(t, path)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			j.Progress(stack.Event{Node: deletableNode(fmt.Sprintf("g%d", i)), Phase: stack.Applying, Missing: true})
		})
	}
	all.Wait()
	if onFile, err := Read(path); err != nil || len(onFile.Inventory) != 50 {
		t.Errorf("%d resources on file, want 50; %v", len(onFile.Inventory), err)
	}
}

func TestContinueInfra(t *testing.T) {
	h := &File{InfraUnderWay: &infra.Output{BaseDomain: "example.com", ResourceGroupName: "theirs", VNetID: armID("net") + "/v/theirs", SubnetID: "S",
		SecurityGroupID: armID("x") + "/n/demo-x1-nsg"}, Brought: &Brought{PublicIPID: "IP"}}
	o := infra.Options{Name: "demo", InfraID: "x1"}
	h.ContinueInfra(&o)
	if o.BaseDomain != "example.com" || o.ResourceGroup != "theirs" || o.VNetID != armID("net")+"/v/theirs" || o.SubnetID != "S" || o.PublicIPID != "IP" {
		t.Errorf("%+v", o)
	}
	if o.NSGID != "" {
		t.Errorf("the security group that the stack makes is taken for the user's: %s", o.NSGID)
	}
	made := infra.Options{Name: "demo", InfraID: "x1", BaseDomain: "example.org"}
	(&File{Infra: &infra.Output{BaseDomain: "example.com", ResourceGroupName: "demo-x1", VNetID: armID("demo-vnet-x1") + "/v/demo-x1"}}).ContinueInfra(&made)
	if made.ResourceGroup != "" || made.VNetID != "" || made.BaseDomain != "example.org" {
		t.Errorf("%+v", made)
	}
}
