package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// guestFile has what the guest said of its provisioning; it goes with the machine.
const guestFile = "provisioning.json"

// guestReport is what a guest said last of its provisioning.
type guestReport struct {
	VMID    string `json:"vmId"`
	State   string `json:"state"` // feed.ProvisioningSucceeded or feed.ProvisioningFailed
	Message string `json:"message,omitempty"`
}

// note keeps a report before it is acknowledged: an agent reports once. What has succeeded stays so.
func (h *hypervisor) note(m feed.Machine, g guestReport) error {
	h.mu.Lock()
	v := h.vms[strings.ToLower(m.ID)]
	defer h.mu.Unlock()
	if v == nil {
		return fmt.Errorf("machine %s is not known", m.Name)
	}
	if v.provisioning().State == feed.ProvisioningSucceeded {
		return nil
	}
	raw, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(v.dir, guestFile), string(raw)+"\n", 0o644); err != nil {
		return err
	}
	h.cfg.Log("machine %s: its guest reports that provisioning has %s", m.Name, g.State)
	h.nudge()
	return nil
}

// provisioning is how far the guest is: it runs until the guest has said otherwise.
func (v *vm) provisioning() guestReport {
	var g guestReport
	raw, err := os.ReadFile(filepath.Join(v.dir, guestFile))
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		v.cfg.Log("machine %s: %v", filepath.Base(v.dir), err)
	}
	if err != nil || g.VMID != v.record.VMID {
		return guestReport{VMID: v.record.VMID, State: feed.ProvisioningRunning}
	}
	return g
}
