package stacks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/dump"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestADumpAsksAzure: every collection is one of Azure's, in a version that it knows; of a group of somebody else's only what the cluster names is taken.
func TestADumpAsksAzure(t *testing.T) {
	w := newWorld(t)
	network := func(group, kind, name string) string {
		return w.group(group) + "/providers/Microsoft.Network/" + kind + "/" + name
	}
	hc := surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) {
		place := hc.Spec.Platform.Azure
		place.SubscriptionID, place.ResourceGroupName = w.subscription, common
		place.VnetID, place.SecurityGroupID = network("theirs", "virtualNetworks", "vnet"), network("theirs", "networkSecurityGroups", "nsg")
	})
	folder := filepath.Join(t.TempDir(), "dump")
	_, err := dump.Write(t.Context(), dump.Source{Client: surveytest.Client(hc).Build()}, dump.What{
		Namespace: "clusters", Name: "demo", Operator: "hypershift", Folder: folder, Azure: w.session(w.transport),
		Say: func(format string, args ...any) {
			if text := fmt.Sprintf(format, args...); !strings.Contains(text, "no control plane") {
				t.Error(text)
			}
		}})
	must(t, err)
	raw, err := os.ReadFile(filepath.Join(folder, "azure", "network.yaml"))
	must(t, err)
	if !strings.Contains(string(raw), "10.9.0.0/24") {
		t.Errorf("%s", raw)
	}
	if found, err := os.ReadDir(filepath.Join(folder, "azure")); err != nil || len(found) != 2 {
		t.Errorf("%v, %v", found, err)
	}
}
