package ignition

import (
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"
)

// updateManagers are the units by which operating systems change themselves or reboot: nobody would drain the node before. A unit that
// an operating system does not have is masked without effect.
var updateManagers = []string{
	// Flatcar
	"update-engine.service", "locksmithd.service",
	// Debian, Ubuntu
	"unattended-upgrades.service", "apt-daily.service", "apt-daily.timer", "apt-daily-upgrade.service", "apt-daily-upgrade.timer",
	// Fedora CoreOS
	"zincati.service", "rpm-ostreed-automatic.service", "rpm-ostreed-automatic.timer",
	// Fedora, RHEL and their like
	"dnf-automatic.timer", "dnf-automatic-install.timer", "dnf5-automatic.timer",
	// openSUSE MicroOS
	"transactional-update.timer", "rebootmgr.service",
}

// holdUpdates keeps a machine as it was made: a node gets a newer operating system by being replaced.
func holdUpdates(config *types.Config) {
	config.Storage.Files = append(config.Storage.Files, file("/etc/flatcar/update.conf", 0o644, "SERVER=disabled\nREBOOT_STRATEGY=off\n"))
	for _, name := range updateManagers {
		config.Systemd.Units = append(config.Systemd.Units, types.Unit{Name: name, Mask: ptr.To(true)})
	}
}
