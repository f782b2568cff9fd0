package ignition

import (
	"bytes"
	_ "embed"
	"net/url"
	"regexp"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"

	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
)

//go:embed node/machine-report.sh
var machineReportScript string

// What the server writes into each answer: only the machine that asks has reached it under this name and with this token.
const (
	endpointMark = "REPORT-ENDPOINT-OF-THIS-MACHINE"
	bearerMark   = "REPORT-BEARER-OF-THIS-MACHINE"
)

// hostOf is what a machine may call the server: a name or an address, with a port or without.
var hostOf = regexp.MustCompile(`^[A-Za-z0-9.:\[\]-]{1,260}$`)

// addReport has a machine tell why it is no node yet. authority is the certificate that signed the server's, PEM; without it a machine
// tells nobody.
func addReport(config *types.Config, authority []byte) {
	if len(authority) == 0 {
		return
	}
	var settings types.File
	settings.Path = "/etc/kubernetes/report/curl.conf"
	settings.Overwrite, settings.Mode = ptr.To(true), ptr.To(0o600)
	// Not base64: the server replaces the marks.
	settings.Contents.Source = ptr.To("data:," + url.PathEscape(`url = "https://`) + endpointMark + url.PathEscape(machinereport.Path+"\"\nheader = \""+headerAuthorization+": "+bearerPrefix) +
		bearerMark + url.PathEscape("\"\n"))
	config.Storage.Files = append(config.Storage.Files, settings,
		file("/etc/kubernetes/report/ca.crt", 0o644, string(authority)),
		file(programs+"machine-report", 0o755, machineReportScript),
	)
	config.Systemd.Units = append(config.Systemd.Units, unit("machine-report.service",
		"[Unit]",
		"Description=Report of what keeps this machine from being a node",
		"After=network-online.target",
		"Wants=network-online.target",
		"[Service]",
		"Type=simple",
		"ExecStart="+programs+"machine-report",
		"Restart=on-failure",
		"RestartSec=30",
		"[Install]",
		"WantedBy=multi-user.target",
	))
}

// Personal is the payload for a machine that reached the server as host, with this authorization header.
func Personal(payload []byte, host, authorization string) []byte {
	if !hostOf.MatchString(host) {
		return payload
	}
	payload = bytes.ReplaceAll(payload, []byte(endpointMark), []byte(url.QueryEscape(host)))
	return bytes.ReplaceAll(payload, []byte(bearerMark), []byte(url.QueryEscape(authorization[len(bearerPrefix):])))
}
