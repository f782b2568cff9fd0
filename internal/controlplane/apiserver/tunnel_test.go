package apiserver

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// The server of the tunnel starts before the API server waits, and ends after it; others are asked by a name that is not the pod's own.
func TestTunnelOutlivesTheAPIServer(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	hcp.Namespace = "clusters-demo"
	pod := &corev1.PodSpec{}
	addTunnel(&component.Context{HCP: hcp}, pod)
	if len(pod.InitContainers) != 2 || pod.InitContainers[0].Name != "konnectivity-server" {
		t.Fatalf("init containers %+v", pod.InitContainers)
	}
	if policy := pod.InitContainers[0].RestartPolicy; policy == nil || *policy != corev1.ContainerRestartPolicyAlways {
		t.Error("the server of the tunnel is no side-car")
	}
	prober := pod.InitContainers[1]
	for _, want := range []string{"--target=" + string(component.WaitForEtcd), "--tunnel=localhost:8090",
		"--tunnel-of-others=konnectivity-server-local.clusters-demo.svc:8090"} {
		if !slices.Contains(prober.Command, want) {
			t.Errorf("the prober has no %s: %v", want, prober.Command)
		}
	}
	if names := pod.HostAliases[0].Hostnames; !slices.Equal(names, []string{publish.KonnectivityLocalService}) {
		t.Errorf("the pod itself answers for %v", names)
	}
	for _, obj := range publish.Objects(hcp, "") {
		if s, ok := obj.(*corev1.Service); ok && s.Spec.PublishNotReadyAddresses != (s.Name == publish.KonnectivityService) {
			t.Errorf("Service %s publishes addresses that are not ready: %t", s.Name, s.Spec.PublishNotReadyAddresses)
		}
	}
}
