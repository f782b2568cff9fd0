package definitions

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// Every set has its kinds, and who changes what it is given changes nobody else's.
func TestDefinitions(t *testing.T) {
	for kind, of := range map[string]func(*inside.Facts) []client.Object{
		"clusterversions.config.openshift.io": Configuration, "apirequestcounts.apiserver.openshift.io": RequestCounts,
		"volumesnapshots.snapshot.storage.k8s.io": Snapshots,
	} {
		at := func() client.Object {
			all := of(guesttest.PlainFacts())
			i := slices.IndexFunc(all, func(obj client.Object) bool { return obj.GetName() == kind })
			if i < 0 {
				t.Fatalf("%s is not among %d definitions", kind, len(all))
			}
			return all[i]
		}
		at().SetLabels(map[string]string{"changed": "true"})
		if labels := at().GetLabels(); labels["changed"] != "" {
			t.Errorf("%s: the next one is given what was changed: %v", kind, labels)
		}
	}
}

func TestNoSnapshotsWithoutDisks(t *testing.T) {
	facts := guesttest.PlainFacts()
	facts.HCP.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	if got := Snapshots(facts); len(got) > 0 {
		t.Errorf("%d definitions for volumes that nobody makes", len(got))
	}
}
