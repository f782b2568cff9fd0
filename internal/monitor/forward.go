package monitor

import (
	"cmp"
	"slices"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Proxy is the configuration of the proxy by which a hosted cluster's own monitoring reads the metrics of its control plane.
type Proxy struct {
	EndpointResolver Resolver    `json:"endpointResolver"`
	Components       []Forwarded `json:"components"`
}

// Resolver tells where pods are.
type Resolver struct {
	URL    string `json:"url"`
	CAFile string `json:"caFile"`
}

// Forwarded is a program whose metrics are forwarded, as its monitor has it. The last four are what a cluster that has the program in itself calls
// its job, namespace, service and endpoint.
type Forwarded struct {
	Name             string            `json:"name"`
	Selector         map[string]string `json:"selector"`
	MetricsPort      int32             `json:"metricsPort"`
	MetricsPath      string            `json:"metricsPath"`
	MetricsScheme    string            `json:"metricsScheme"`
	TLSServerName    string            `json:"tlsServerName,omitempty"`
	CAFile           string            `json:"caFile,omitempty"`
	CertFile         string            `json:"certFile,omitempty"`
	KeyFile          string            `json:"keyFile,omitempty"`
	MetricsJob       string            `json:"metricsJob"`
	MetricsNamespace string            `json:"metricsNamespace"`
	MetricsService   string            `json:"metricsService"`
	MetricsEndpoint  string            `json:"metricsEndpoint"`
}

// standalone are the names of programs in a cluster that has them in itself: job, namespace, service and endpoint.
var standalone = map[string][4]string{
	"etcd":                     {"etcd", contract.EtcdNamespace, "etcd", "etcd-metrics"},
	component.APIServer:        {"apiserver", "default", "kubernetes", "https"},
	contract.ControllerManager: {contract.ControllerManager, contract.ControllerManagerNamespace, contract.ControllerManager, "https"},
	contract.Scheduler:         {"scheduler", contract.SchedulerNamespace, "scheduler", "https"},
}

// Forward describes the targets whose port is known, by name, and the objects with their authorities and clients, each mounted below dir under its
// own name.
func Forward(namespace, dir string, port func(target, name string) int32) (out []Forwarded, authorities, clients []string) {
	for _, t := range targets {
		number := port(t.name, t.port)
		if number == 0 {
			continue
		}
		names, known := standalone[t.name]
		if !known {
			names = [4]string{t.name, namespace, t.name, t.port}
		}
		f := Forwarded{Name: t.name, Selector: map[string]string{component.LabelApp: t.name}, MetricsPort: number, MetricsPath: "/metrics", MetricsScheme: "http",
			MetricsJob: names[0], MetricsNamespace: names[1], MetricsService: names[2], MetricsEndpoint: names[3]}
		if t.secure {
			tls := t.tlsNames()
			f.MetricsScheme, f.TLSServerName, f.CAFile = "https", tls.server, dir+"/"+tls.authority+"/ca.crt"
			f.CertFile, f.KeyFile = dir+"/"+tls.client+"/tls.crt", dir+"/"+tls.client+"/tls.key"
			authorities, clients = append(authorities, tls.authority), append(clients, tls.client)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Forwarded) int { return cmp.Compare(a.Name, b.Name) })
	return out, unique(authorities), unique(clients)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// Relabelings are what a set keeps of a target; sre replaces what SRE keeps.
func Relabelings(name string, set Set, sre map[string][]any) []any {
	for _, t := range targets {
		if t.name == name {
			return t.relabelings(set, sre)
		}
	}
	return nil
}
