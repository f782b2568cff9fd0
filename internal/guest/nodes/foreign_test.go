package nodes

import (
	"strings"
	"testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
)

func TestIsForeign(t *testing.T) {
	for id, want := range map[string]bool{
		guesttest.VirtualMachine("subscription", "group", "a"):                    false,
		guesttest.VirtualMachine("SUBSCRIPTION", "Group", "a"):                    false,
		guesttest.VirtualMachine("subscription", "other", "a"):                    true,
		guesttest.VirtualMachine("other", "group", "a"):                           true,
		strings.ToLower(guesttest.VirtualMachine("subscription", "group-2", "a")): true,
		strings.ToLower(guesttest.VirtualMachine("subscription", "group", "a")):   false,
		"azure:///subscriptions/subscription/resourceGroups":                      false,
		"azure:///subscriptions/s/resourceGroups/other/providers/X/y/a/z/0":       true,
	} {
		if got := isForeign(id, guesttest.AzurePlane()); got != want {
			t.Errorf("%s: %t", id, got)
		}
	}
	own := guesttest.AzurePlane()
	own.Annotations = map[string]string{hyperv1.DisableMachineManagementAnnotation: ""}
	none := &hyperv1.HostedControlPlane{}
	none.Spec.Platform.Type = hyperv1.NonePlatform
	for name, hcp := range map[string]*hyperv1.HostedControlPlane{"platform None": none, "machines are the user's": own} {
		if isForeign(guesttest.VirtualMachine("other", "other", "a"), hcp) {
			t.Error(name)
		}
	}
}
