package compute

import (
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// States of a machine whose guest is not ready.
const (
	stateCreating = "Creating"
	stateFailed   = "Failed"
)

// Codes of a guest that does not become ready, and of one that says it cannot.
const (
	codeTimedOut = "OSProvisioningTimedOut"
	codeInternal = "OSProvisioningInternalError"
)

// provisioning is how far the guest of a machine is, "" where it is ready or nobody says. A machine that takes too long has failed and
// goes on running; it may still become ready.
func provisioning(c *provider.Call, id string) (state string, failure *provider.Error) {
	d := c.Tx.Get(store.Power, provider.Key(id))
	since := wire.Time(d, "since")
	switch told := wire.Text(d, "provisioning"); {
	case told == feed.ProvisioningFailed:
		return stateFailed, provider.Conflict(codeInternal, "OS Provisioning failed for VM '%s' due to an internal error: %s", provider.LastSegment(id), wire.Text(d, "provisioningMessage"))
	case told != feed.ProvisioningRunning:
		return "", nil
	case since.IsZero() || time.Since(since) < c.ProvisioningTimeout:
		return stateCreating, nil
	}
	return stateFailed, provider.Conflict(codeTimedOut, "OS Provisioning for VM '%s' did not finish in the allotted time. The VM may still finish provisioning successfully. Please check provisioning state later. "+
		"For details on how to check current provisioning state of Windows VMs, refer to https://aka.ms/WindowsVMLifecycle and Linux VMs, refer to https://aka.ms/LinuxVMLifecycle.", provider.LastSegment(id))
}

// awaited is whether a machine is made only when its guest says so: somebody boots it, from an image.
func awaited(c *provider.Call, r *provider.Resource) bool {
	return c.Boots != nil && c.Boots() && wire.Sub(wire.Props(r.Body), "osProfile") != nil && !IsHost(r)
}

// IsHollow tells whether a machine is one of the sandbox's own that runs nothing (package hollow). To Azure the tag is any other.
func IsHollow(r *provider.Resource) bool {
	return strings.EqualFold(wire.Text(wire.Sub(r.Body, "tags"), "sandbox-hollow"), "true")
}

// IsHost tells whether a machine is the management node itself, which nobody boots.
func IsHost(r *provider.Resource) bool {
	return strings.EqualFold(wire.Text(wire.Sub(r.Body, "tags"), "sandbox-host"), "true")
}

func viewVM(c *provider.Call, r *provider.Resource, d wire.Doc) {
	if state, _ := provisioning(c, r.ID); state != "" {
		wire.EnsureProps(d)["provisioningState"] = state
	}
}
