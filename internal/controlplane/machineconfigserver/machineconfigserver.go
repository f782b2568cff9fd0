// Package machineconfigserver describes the hosted cluster to the machine-config programs of an OpenShift payload, which the ignition server runs.
package machineconfigserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/payloadrender"
)

// Authorities are what machines trust, PEM.
type Authorities struct {
	// Root signs what the control plane serves, KubeletClient who may ask kubelets.
	Root, KubeletClient string
	// User has those that the user trusts; empty where there are none.
	User string
}

const (
	machineConfigAPI = contract.MachineConfigAPI
	machineConfigKey = "machineconfiguration.openshift.io/"
)

// ConfigMap has a key for each file that the programs read.
func ConfigMap(hcp *hyperv1.HostedControlPlane, trusted Authorities) (*corev1.ConfigMap, error) {
	hash, err := ignition.ConfigurationHash(hcp.Spec.Configuration)
	if err != nil {
		return nil, err
	}
	data := map[string]string{contract.ConfigurationHashKey: hash, "root-ca.crt": trusted.Root, "signer-ca.crt": trusted.KubeletClient}
	for key, object := range objects(hcp, trusted) {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		data[key] = string(text)
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: hcp.Namespace, Name: contract.MachineConfigServer}, Data: data,
	}, nil
}

func objects(hcp *hyperv1.HostedControlPlane, trusted Authorities) map[string]any {
	configuration := hcp.Spec.Configuration
	if configuration == nil {
		configuration = &hyperv1.ClusterConfiguration{}
	}
	infrastructure := singletons.Infrastructure(hcp)
	if azure := hcp.Spec.Platform.Azure; azure != nil && azure.Topology != "" && azure.Topology != hyperv1.AzureTopologyPublic {
		status, _ := infrastructure.Object["status"].(map[string]any)
		status["apiServerInternalURI"] = fmt.Sprintf("https://api.%s.hypershift.local:443", hcp.Name)
	}
	all := map[string]any{
		"cluster-dns-02-config.yaml":            singletons.Object("DNS", singletons.Name, singletons.DNSSpec(hcp), nil).Object,
		"cluster-infrastructure-02-config.yaml": infrastructure.Object,
		"cluster-network-02-config.yaml":        singletons.Object("Network", singletons.Name, singletons.NetworkSpec(hcp, singletons.UserSpec(configuration.Network)), nil).Object,
		"cluster-proxy-01-config.yaml":          singletons.Proxy(hcp, configuration).Object,
		"cluster-apiserver-config.yaml":         singletons.Object("APIServer", singletons.Name, singletons.UserSpec(configuration.APIServer), nil).Object,
		"image-config.yaml":                     singletons.Object("Image", singletons.Name, singletons.UserSpec(configuration.Image), nil).Object,
		"install-config.yaml":                   installConfig(hcp),
		"master.machineconfigpool.yaml":         pool("master"),
		"worker.machineconfigpool.yaml":         pool("worker"),
	}
	if trusted.User != "" {
		all[payloadrender.TrustBundleFile] = corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: contract.ConfigNamespace, Name: contract.UserCABundle}, Data: map[string]string{contract.CABundleKey: trusted.User},
		}
	}
	return all
}

// installConfig says as much of an installation as the programs read; the platform's facts they have of the Infrastructure.
func installConfig(hcp *hyperv1.HostedControlPlane) map[string]any {
	machines := []any{}
	for _, network := range hcp.Spec.Networking.MachineNetwork {
		machines = append(machines, map[string]any{"cidr": string(network.CIDR)})
	}
	return map[string]any{
		"apiVersion": "v1", "baseDomain": hcp.Spec.DNS.BaseDomain, "metadata": map[string]any{"name": component.ClusterDomain(hcp)},
		"controlPlane": map[string]any{"name": "master", "replicas": 1},
		"networking":   map[string]any{"machineNetwork": machines},
		"platform":     map[string]any{"none": map[string]any{}},
	}
}

// pool selects the configurations of workers: so the pool "master", which alone is served before there is a cluster, is theirs, too.
func pool(name string) map[string]any {
	return map[string]any{
		"apiVersion": machineConfigAPI, "kind": "MachineConfigPool",
		"metadata": map[string]any{"name": name, "labels": map[string]any{machineConfigKey + "mco-built-in": ""}},
		"spec": map[string]any{
			"machineConfigSelector": map[string]any{"matchLabels": map[string]any{machineConfigKey + "role": "worker"}},
			"nodeSelector":          map[string]any{"matchLabels": map[string]any{"node-role.kubernetes.io/worker": ""}},
		},
	}
}
