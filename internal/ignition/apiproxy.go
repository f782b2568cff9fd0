package ignition

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"

	"github.com/hypershift-on-azure/hypershift/internal/contract"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Addresses of the API server as nodes and pods of a hosted cluster see it.
const (
	DefaultAdvertiseAddress = contract.DefaultAdvertiseAddress
	DefaultAdvertisePort    = 6443
	// APIProxyConfigName is the machine config of the node-local proxy.
	APIProxyConfigName = "20-apiserver-haproxy"
)

//go:embed node/apiserver-ip.sh
var apiserverIPScript string

// APIProxy describes the node-local proxy in front of the hosted API server.
type APIProxy struct {
	// Image is the payload's haproxy-router.
	Image string
	// ListenAddress and ListenPort are where the node's pods find the API server.
	ListenAddress string
	ListenPort    int32
	// Host and Port are the published endpoint.
	Host string
	Port int32
}

// MachineConfig returns the document that makes a node run the proxy.
func (p APIProxy) MachineConfig() (string, error) {
	pod, err := p.staticPod()
	if err != nil {
		return "", err
	}
	config := types.Config{Ignition: types.Ignition{Version: specVersion}}
	config.Storage.Files = []types.File{
		file("/etc/kubernetes/apiserver-proxy-config/haproxy.cfg", 0o644, p.haproxyConfig()),
		file("/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", 0o644, pod),
		file(programs+"setup-apiserver-ip.sh", 0o755, strings.ReplaceAll(apiserverIPScript, "@ADDRESS@", p.ListenAddress)),
	}
	config.Systemd.Units = []types.Unit{onceUnit("apiserver-ip.service", "Address of the hosted API server on this node", "setup-apiserver-ip.sh")}
	return machineConfig(APIProxyConfigName, config, false)
}

// resolversConfig has the proxy follow the name of the API server. As long as no name server knows another address, the last one known is
// better than none: an outage of the DNS is none of the API.
const resolversConfig = `
resolvers node
  parse-resolv-conf
  accepted_payload_size 8192
  hold valid 10s
  hold nx 24h
  hold other 24h
  hold refused 24h
  hold timeout 24h
`

// The server has no health check: with one endpoint a failed check could only turn an error into another one.
func (p APIProxy) haproxyConfig() string {
	server := "server controlplane " + net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port)))
	resolvers := ""
	if net.ParseIP(p.Host) == nil {
		server += " resolvers node resolve-prefer ipv4 init-addr libc,none"
		resolvers = resolversConfig
	}
	return fmt.Sprintf(`global
  maxconn 7000
  log stdout local0 notice

defaults
  mode tcp
  log global
  timeout connect 10s
  timeout client 10m
  timeout server 10m
  timeout client-fin 5s
  timeout server-fin 5s
  timeout queue 5s
  retries 3
%s
frontend local_apiserver
  bind %s
  default_backend remote_apiserver

backend remote_apiserver
  %s
`, resolvers, net.JoinHostPort(p.ListenAddress, strconv.Itoa(int(p.ListenPort))), server)
}

func (p APIProxy) staticPod() (string, error) {
	pod := map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "kube-apiserver-proxy", "namespace": metav1.NamespaceSystem, "labels": map[string]any{contract.AppLabel: "kube-apiserver-proxy"}},
		"spec": map[string]any{
			"hostNetwork":       true,
			"priorityClassName": contract.NodeCritical,
			"containers": []any{map[string]any{
				"name":    "haproxy",
				"image":   p.Image,
				"command": []any{"/usr/sbin/haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
				"livenessProbe": map[string]any{
					"httpGet":             map[string]any{"path": "/version", "scheme": "HTTPS", "host": p.ListenAddress, "port": p.ListenPort},
					"initialDelaySeconds": 120, "periodSeconds": 120, "timeoutSeconds": 160, "failureThreshold": 3,
				},
				"ports":        []any{map[string]any{"name": "apiserver", "containerPort": p.ListenPort, "hostPort": p.ListenPort, "protocol": "TCP"}},
				"resources":    map[string]any{"requests": map[string]any{"cpu": "13m", "memory": "16Mi"}},
				"volumeMounts": []any{map[string]any{"name": "config", "mountPath": "/usr/local/etc/haproxy", "readOnly": true}},
			}},
			"volumes": []any{map[string]any{"name": "config", "hostPath": map[string]any{"path": "/etc/kubernetes/apiserver-proxy-config"}}},
		},
	}
	encoded, err := json.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("encode the API proxy pod: %w", err)
	}
	return string(encoded), nil
}

// machineConfig wraps an Ignition configuration into the document a node pool carries.
func machineConfig(name string, config types.Config, fips bool) (string, error) {
	spec := map[string]any{"config": config}
	if fips {
		spec["fips"] = true
	}
	document := map[string]any{
		"apiVersion": machineConfigGroup + "/v1",
		"kind":       KindMachineConfig,
		"metadata":   map[string]any{"name": name, "labels": map[string]any{roleLabel: "worker"}},
		"spec":       spec,
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("encode MachineConfig %s: %w", name, err)
	}
	return string(encoded), nil
}
