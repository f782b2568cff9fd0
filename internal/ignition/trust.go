package ignition

import (
	_ "embed"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
)

//go:embed node/node-trust.sh
var nodeTrustScript string

const (
	// trustBundle has the additional authorities of the hosted cluster; absent without any.
	trustBundle = "/etc/kubernetes/trust/bundle.pem"
	trustUnit   = "node-trust.service"
)

func hasTrust(bundle string) bool { return strings.TrimSpace(bundle) != "" }

// addTrust has the machine trust the bundle before it pulls its first image.
func addTrust(config *types.Config, bundle string) {
	if !hasTrust(bundle) {
		return
	}
	config.Storage.Files = append(config.Storage.Files,
		file(trustBundle, 0o644, bundle),
		file(programs+"node-trust", 0o755, nodeTrustScript),
	)
	config.Systemd.Units = append(config.Systemd.Units, unit(trustUnit,
		"[Unit]",
		"Description=Additional trust bundle of the hosted cluster",
		// An operating system may make its own bundle at boot.
		"After=update-ca-certificates.service coreos-update-ca-trust.service",
		"Before=containerd.service kubelet-fetch.service node-fetch.service kubelet.service",
		"[Service]",
		"Type=oneshot",
		"RemainAfterExit=yes",
		"ExecStart="+programs+"node-trust",
		"[Install]",
		"WantedBy=multi-user.target",
	))
}
