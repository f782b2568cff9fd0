package status

import (
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// A rollout says what it waits for, where the hosted cluster has said so.
func TestProgressSaysWhatItWaitsFor(t *testing.T) {
	const image = "quay.io/r:4.21.1"
	hc := &hyperv1.HostedCluster{}
	hc.Spec.Release.Image = image
	hc.Status.Version = &hyperv1.ClusterVersionStatus{Desired: hyperv1.VersionRelease{Image: image}, History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Image: image}}}
	c := hostedclustertest.At(hc)
	told := func(want string) {
		t.Helper()
		observeProgress(c, "")
		if got := kube.Find(hc.Status.Conditions, hyperv1.HostedClusterProgressing); got.Message != want {
			t.Errorf("%q, want %q", got.Message, want)
		}
	}
	told("Rolling out " + image + ".")
	set := kube.Conditions(&hc.Status.Conditions, 1)
	set.True(hyperv1.ClusterVersionProgressing, "Deploying", "Working towards 4.21.1: waiting on etcd, kube-apiserver")
	told("Rolling out " + image + ": Working towards 4.21.1: waiting on etcd, kube-apiserver.")
	set.False(hyperv1.ClusterVersionProgressing, hyperv1.AsExpectedReason, "Cluster version is 4.21.0")
	told("Rolling out " + image + ".")
}

// What is refused does not move: the condition says so, and why.
func TestProgressOfARefusedRelease(t *testing.T) {
	const runs, wanted = "quay.io/r:4.22.0", "quay.io/r:4.21.0"
	hc := &hyperv1.HostedCluster{}
	hc.Spec.Release.Image = wanted
	hc.Status.Version = &hyperv1.ClusterVersionStatus{Desired: hyperv1.VersionRelease{Image: runs}, History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Image: runs}}}
	set := kube.Conditions(&hc.Status.Conditions, 1)
	for _, test := range []struct {
		valid           func()
		reason, message string
	}{
		{func() { set.True(hyperv1.ValidReleaseImage, hyperv1.AsExpectedReason, "Release 4.21.0 can be used.") }, hyperv1.ProgressingReason, "Moving from " + runs + " to " + wanted + "."},
		{func() { set.False(hyperv1.ValidReleaseImage, hyperv1.InvalidImageReason, "it is older") }, hyperv1.BlockedReason, "Moving from " + runs + " to " + wanted + " is refused: it is older"},
	} {
		test.valid()
		observeProgress(hostedclustertest.At(hc), "")
		if got := kube.Find(hc.Status.Conditions, hyperv1.HostedClusterProgressing); got.Status != "True" || got.Reason != test.reason || got.Message != test.message {
			t.Errorf("%+v", got)
		}
	}
}
