package arm

import (
	"net/http"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// What a power action wants of the hypervisor.
func wantRunning(d Doc)     { d["wanted"] = feed.PowerRunning }
func wantStopped(d Doc)     { d["wanted"] = feed.PowerStopped }
func wantDeallocated(d Doc) { d["wanted"] = feed.PowerDeallocated }
func wantRestart(d Doc) {
	d["wanted"] = feed.PowerRunning
	d["generation"] = wire.Number(d, "generation") + 1
}

func powerAction(change func(Doc)) func(*call, *Resource) (*reply, error) {
	return func(c *call, r *Resource) (*reply, error) {
		d := c.tx.Edit(store.Power, key(r.ID))
		if d == nil {
			return nil, notFound(Path{Raw: r.ID, Type: r.Type, Names: []string{r.Name}})
		}
		if c.operationFault().Code == "" {
			change(d)
		}
		delete(d, "reported") // until the hypervisor reports again
		delete(d, "message")
		out := answer(http.StatusAccepted, nil)
		c.operationHeaders(out, c.startOperation(r.ID), true)
		return out, nil
	}
}

// shownPower tells a stopped machine whose hardware is let go of from one that keeps it: the hypervisor reports both alike.
func shownPower(wanted, reported string) string {
	switch {
	case reported == "", reported == feed.PowerStopped && wanted == feed.PowerDeallocated:
		return wanted
	case wanted == feed.PowerDeallocated:
		return "deallocating"
	}
	return reported
}

// instanceView shows the reported power state, or the wanted one while nothing is reported.
func (c *call) instanceView(r *Resource) Doc {
	p := orEmpty(c.tx.Get(store.Power, key(r.ID)))
	state := shownPower(wire.Text(p, "wanted"), wire.Text(p, "reported"))
	now := time.Now().UTC().Format(time.RFC3339Nano)
	provisioning := Doc{"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded", "time": now}
	if c.busy(r.ID) {
		provisioning = Doc{"code": "ProvisioningState/updating", "level": "Info", "displayStatus": "Updating"}
	}
	status := Doc{"code": "PowerState/" + state, "level": "Info", "displayStatus": "VM " + state}
	if m := wire.Text(p, "message"); m != "" {
		status["message"] = m
	}
	return Doc{"computerName": wire.Text(wire.Sub(wire.Props(r.Body), "osProfile"), "computerName"), "statuses": []any{provisioning, status}}
}

func (c *call) instanceViewOf() (*reply, error) {
	r, err := c.parent()
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, c.instanceView(r)), nil
}

func bootDiagnostics(_ *call, r *Resource) (*reply, error) {
	return nil, conflict("ResourceNotReady", "Boot diagnostics of '%s' are in the sandbox: machines/%s/boot.log in its folder.", r.Name, strings.ToLower(r.Name))
}
