package guest

import (
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestIsForeign(t *testing.T) {
	for id, want := range map[string]bool{
		virtualMachine("subscription", "group", "a"):                        false,
		virtualMachine("SUBSCRIPTION", "Group", "a"):                        false,
		virtualMachine("subscription", "other", "a"):                        true,
		virtualMachine("other", "group", "a"):                               true,
		strings.ToLower(virtualMachine("subscription", "group-2", "a")):     true,
		strings.ToLower(virtualMachine("subscription", "group", "a")):       false,
		"azure:///subscriptions/subscription/resourceGroups":                false,
		"azure:///subscriptions/s/resourceGroups/other/providers/X/y/a/z/0": true,
	} {
		if got := isForeign(id, azurePlane()); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
	own := azurePlane()
	own.Annotations = map[string]string{hyperv1.DisableMachineManagementAnnotation: ""}
	none := &hyperv1.HostedControlPlane{}
	none.Spec.Platform.Type = hyperv1.NonePlatform
	for name, hcp := range map[string]*hyperv1.HostedControlPlane{"platform None": none, "machines are the user's": own} {
		if isForeign(virtualMachine("other", "other", "a"), hcp) {
			t.Error(name)
		}
	}
}
