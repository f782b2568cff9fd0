package look

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestConsoleLogs: the console of each machine of the cluster, or of the pool that is named, becomes a file that only the user reads; what cannot be
// had is said, with what to do, and fails the command.
func TestConsoleLogs(t *testing.T) {
	other := surveytest.Machine("spare", "demo-b", "InfrastructureReady True Ready")
	objects := []client.Object{
		surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.Azure.SubscriptionID = "sub" }), surveytest.Cluster("none"),
		surveytest.Pool("demo", "demo", 1), surveytest.Pool("demo", "spare", 1),
		surveytest.Machine("demo", "demo-a", "InfrastructureReady True Ready"), other,
	}
	c := surveytest.Client(objects...).Build()
	off := &failure.Error{Op: "call", Resource: "demo-b", Code: "OperationNotAllowed", Cause: "Boot diagnostics is not enabled"}
	for _, tc := range []struct {
		title, name, pool, refusal, said string
		fails                            map[string]error
		files                            []string
	}{
		{title: "all", name: "demo", files: []string{"demo-a-vm.log", "demo-b-vm.log"}},
		{title: "one pool", name: "demo", pool: "spare", files: []string{"demo-b-vm.log"}},
		{title: "no such pool", name: "demo", pool: "spade", refusal: "has demo, spare"},
		{title: "no machines", name: "none", refusal: "no virtual machines yet"},
		{title: "no cluster", name: "demmo", refusal: "did you mean demo?"},
		{title: "one without diagnostics", name: "demo", fails: map[string]error{"demo-b-vm": off}, refusal: "1 of 2 machines", said: "--diagnostics-storage-account-type Managed", files: []string{"demo-a-vm.log"}},
		{title: "Azure away", name: "demo", fails: map[string]error{"demo-a-vm": errors.New("no answer"), "demo-b-vm": errors.New("no answer")}, refusal: "2 of 2 machines", said: "no answer"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			var out, said bytes.Buffer
			f := &consoles{name: tc.name, namespace: "clusters", pool: tc.pool, folder: filepath.Join(t.TempDir(), "made"), say: func(format string, args ...any) {
				for _, arg := range args {
					if text, ok := arg.(string); ok {
						said.WriteString(text)
					} else if err, ok := arg.(error); ok {
						said.WriteString(err.Error())
					}
				}
			}}
			f.read = func(_ context.Context, id string) ([]byte, error) {
				group, machine, _ := strings.Cut(id, "/providers/Microsoft.Compute/virtualMachines/")
				if group != "/subscriptions/sub/resourceGroups/demo-group" {
					t.Errorf("asked for %s", id)
				}
				return []byte("console of " + machine), tc.fails[machine]
			}
			err := f.run(t.Context(), c, &out)
			if (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(said.String(), tc.said) {
				t.Errorf("%v, said %s", err, said.String())
			}
			if got := len(strings.Fields(out.String())); got != len(tc.files) {
				t.Errorf("%d files are named: %s", got, out.String())
			}
			for _, name := range tc.files {
				path := filepath.Join(f.folder, name)
				raw, err := os.ReadFile(path)
				if err != nil || string(raw) != "console of "+strings.TrimSuffix(name, ".log") {
					t.Errorf("%s: %q, %v", name, raw, err)
				}
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
		})
	}
	for typed, refusal := range map[string]string{
		"--name demo --azure-creds absent.json":                     "absent.json",
		"--name demo --azure-creds creds.json --cloud AzureNowhere": "AzureNowhere",
		"--azure-creds creds.json":                                  "--name is required",
		"--name demo":                                               "azure-creds",
		"--name demo --namespace clusters --nodepool demo --output-dir made --azure-creds creds.json": "kubeconfig",
	} {
		t.Chdir(t.TempDir())
		t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
		if err := os.WriteFile("creds.json", []byte(`{"subscriptionId":"5a2d0b0e-0000-4000-8000-000000000001","tenantId":"5a2d0b0e-0000-4000-8000-000000000002","clientId":"5a2d0b0e-0000-4000-8000-000000000003","clientSecret":"d"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := newConsoleLogsAzureCommand()
		cmd.SetArgs(strings.Fields(typed))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: %v, want %q", typed, err, refusal)
		}
		if left, err := filepath.Glob("made"); err != nil || left != nil {
			t.Errorf("%s: something is made: %v, %v", typed, left, err)
		}
	}
}
