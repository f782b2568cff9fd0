package compute

import (
	"net/http"
	"strconv"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// How long the addresses of boot diagnostics are good for, in minutes
// (https://learn.microsoft.com/rest/api/compute/virtual-machines/retrieve-boot-diagnostics-data).
const (
	consoleMinutes     = 120
	mostConsoleMinutes = 1440
)

// diagnosed refuses boot diagnostics that nobody would write: those in an account of the user's own.
func diagnosed(props wire.Doc) error {
	if wire.Text(wire.Sub(wire.Sub(props, "diagnosticsProfile"), "bootDiagnostics"), "storageUri") == "" {
		return nil
	}
	return provider.Failf(wire.NotServedStatus, wire.NotServedCode, "%s", wire.NotServed("Boot diagnostics in a storage account of one's own (diagnosticsProfile.bootDiagnostics.storageUri)"))
}

// bootDiagnostics answers the address of a machine's serial console, signed for some time. Machines here have no screen.
func bootDiagnostics(c *provider.Call, r *provider.Resource) (*provider.Reply, error) {
	minutes := consoleMinutes
	if text := c.Req.URL.Query().Get("sasUriExpirationTimeInMinutes"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostConsoleMinutes {
			return nil, invalid("sasUriExpirationTimeInMinutes", "The value '%s' of parameter 'sasUriExpirationTimeInMinutes' is invalid: it must be between 1 and %d.", text, mostConsoleMinutes)
		}
		minutes = n
	}
	p := wire.Props(r.Body)
	if wire.Sub(wire.Sub(p, "diagnosticsProfile"), "bootDiagnostics")["enabled"] != true {
		return nil, provider.Conflict("OperationNotAllowed", "Boot diagnostics is not enabled for VM '%s'.", r.Name)
	}
	if wire.Text(c.Tx.Get(store.Power, provider.Key(r.ID)), "console") == "" {
		return nil, provider.Conflict("ResourceNotReady", "VM '%s' has not been booted: no hypervisor has named its console.", r.Name)
	}
	return provider.Answer(http.StatusOK, wire.Doc{"serialConsoleLogBlobUri": c.ConsoleURL(r.Name, wire.Text(p, "vmId"), time.Now().Add(time.Duration(minutes)*time.Minute))}), nil
}
