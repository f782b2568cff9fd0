package compute

import (
	"net/http"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// What a power action wants of the hypervisor.
func wantRunning(d wire.Doc)     { d["wanted"] = feed.PowerRunning }
func wantStopped(d wire.Doc)     { d["wanted"] = feed.PowerStopped }
func wantDeallocated(d wire.Doc) { d["wanted"] = feed.PowerDeallocated }
func wantRestart(d wire.Doc) {
	d["wanted"] = feed.PowerRunning
	d["generation"] = wire.Number(d, "generation") + 1
}

func powerAction(change func(wire.Doc)) func(*provider.Call, *provider.Resource) (*provider.Reply, error) {
	return func(c *provider.Call, r *provider.Resource) (*provider.Reply, error) {
		d := c.Tx.Edit(store.Power, provider.Key(r.ID))
		if d == nil {
			return nil, c.NotFound(provider.Path{Raw: r.ID, Type: r.Type, Names: []string{r.Name}})
		}
		if c.OperationFault().Code == "" {
			change(d)
		}
		delete(d, "reported") // until the hypervisor reports again
		delete(d, "message")
		out := provider.Answer(http.StatusAccepted, nil)
		c.OperationHeaders(out, c.StartOperation(r.ID, provider.Updating), true)
		return out, nil
	}
}

// shownPower distinguishes deallocated machines from stopped ones, which the hypervisor reports alike.
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
func instanceView(c *provider.Call, r *provider.Resource) wire.Doc {
	p := c.Tx.Get(store.Power, provider.Key(r.ID))
	state := shownPower(wire.Text(p, "wanted"), wire.Text(p, "reported"))
	now := time.Now().UTC().Format(time.RFC3339Nano)
	progress := wire.Doc{"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded", "time": now}
	switch state, failure := provisioning(c, r.ID); {
	case failure != nil:
		progress = wire.Doc{"code": "ProvisioningState/failed/" + failure.Code, "level": "Error", "displayStatus": "Provisioning failed", "message": failure.Message, "time": now}
	case state != "":
		progress = wire.Doc{"code": "ProvisioningState/creating", "level": "Info", "displayStatus": "Creating"}
	case c.Running.State(r.ID) != "":
		progress = wire.Doc{"code": "ProvisioningState/updating", "level": "Info", "displayStatus": "Updating"}
	}
	status := wire.Doc{"code": "PowerState/" + state, "level": "Info", "displayStatus": "VM " + state}
	if m := wire.Text(p, "message"); m != "" {
		status["message"] = m
	}
	return wire.Doc{"computerName": wire.Text(wire.Sub(wire.Props(r.Body), "osProfile"), "computerName"), "statuses": []any{progress, status}}
}

func instanceViewOf(c *provider.Call) (*provider.Reply, error) {
	r, err := c.Parent()
	if err != nil {
		return nil, err
	}
	return provider.Answer(http.StatusOK, instanceView(c, r)), nil
}
