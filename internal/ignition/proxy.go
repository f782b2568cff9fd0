package ignition

import (
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// addProxy has kubelet, container runtime and payload-fetch use the proxy.
func addProxy(config *types.Config, proxy Proxy) {
	lines := proxy.lines()
	if len(lines) == 0 {
		return
	}
	config.Storage.Files = append(config.Storage.Files, file("/etc/kubernetes/proxy.env", 0o600, strings.Join(lines, "\n")+"\n"))
	variables := dropin("10-proxy.conf", "[Service]", "EnvironmentFile=/etc/kubernetes/proxy.env")
	for i, known := range config.Systemd.Units {
		if known.Name == "kubelet.service" || known.Name == "containerd.service" {
			config.Systemd.Units[i].Dropins = append(known.Dropins, variables)
		}
	}
}

func (p Proxy) lines() []string {
	var out []string
	for _, pair := range [][2]string{{contract.HTTPProxyEnv, p.HTTPProxy}, {contract.HTTPSProxyEnv, p.HTTPSProxy}, {contract.NoProxyEnv, p.NoProxy}} {
		if pair[1] != "" {
			// Quoted: a shell reads the file too.
			value := "'" + strings.ReplaceAll(pair[1], "'", "%27") + "'"
			out = append(out, pair[0]+"="+value, strings.ToLower(pair[0])+"="+value)
		}
	}
	if p.HTTPProxy == "" && p.HTTPSProxy == "" {
		return nil
	}
	return out
}
