package diskdriver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
)

// What the driver reads of Azure is the disk identity, and no secret.
func TestConfig(t *testing.T) {
	hcp := planetest.Plane()
	hcp.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities.Disk.ClientID = "disk"
	objects, err := objects(planetest.View(hcp))
	if err != nil {
		t.Fatal(err)
	}
	text := objects[0].(*corev1.Secret).Data[configKey]
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"aadClientId": "disk", "resourceGroup": "demo", "vmType": "standard", "vnetName": "vnet", "vnetResourceGroup": "net",
		"useFederatedWorkloadIdentityExtension": true, "useInstanceMetadata": false, "aadFederatedTokenFile": "/var/run/secrets/openshift/serviceaccount/token"} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if strings.Contains(string(text), "aadClientSecret") {
		t.Error("a key for a secret")
	}
}

// Side-cars elect a leader only where there can be two pods; each of them meets the driver at its socket, and the token is in every one.
func TestLeaders(t *testing.T) {
	for policy, elect := range map[hyperv1.AvailabilityPolicy]bool{hyperv1.SingleReplica: false, hyperv1.HighlyAvailable: true} {
		hcp := planetest.Plane()
		hcp.Spec.ControllerAvailabilityPolicy = policy
		objects, err := objects(planetest.View(hcp))
		if err != nil {
			t.Fatal(err)
		}
		elected := 0
		for _, c := range objects[2].(*appsv1.Deployment).Spec.Template.Spec.Containers {
			if slices.Contains(c.Command, "--leader-election=true") {
				elected++
			}
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == socketDir }) {
				t.Errorf("container %s does not meet the driver", c.Name)
			}
		}
		if want := map[bool]int{false: 0, true: 5}[elect]; elected != want {
			t.Errorf("%s: %d containers elect a leader, want %d", policy, elected, want)
		}
	}
}

// A payload with OpenShift's storage operator, and a platform without identities, have no driver of ours.
func TestEnabled(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hyperv1.HostedControlPlane, map[string]string)
		want   bool
	}{
		"Azure": {func(*hyperv1.HostedControlPlane, map[string]string) {}, true},
		"OpenShift's operator": {func(_ *hyperv1.HostedControlPlane, images map[string]string) {
			images["cluster-storage-operator"] = "x"
		}, false},
		"no workload identities": {func(h *hyperv1.HostedControlPlane, _ map[string]string) {
			h.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities = nil
		}, false},
		"None": {func(h *hyperv1.HostedControlPlane, _ map[string]string) { h.Spec.Platform.Azure = nil }, false},
	} {
		view := planetest.View(planetest.Plane())
		c.change(view.HCP, view.Images)
		if got := Component().Enabled(view); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
