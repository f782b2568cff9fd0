package addons

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig/singletons"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// installFacts are what a person, or a program, that looks into the guest may want to know of how it was made.
func installFacts(facts *inside.Facts) []client.Object {
	if facts.HCP == nil {
		return nil
	}
	first := facts.Version
	if version := facts.HCP.Status.VersionStatus; version != nil && len(version.History) > 0 {
		first = version.History[len(version.History)-1].Version
	}
	pull := func(namespace string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: contract.PullSecret},
			Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{hyperv1.PullSecretKey: facts.PullSecret}}
	}
	return slices.Concat(facts.Copies, []client.Object{
		pull(contract.ConfigNamespace), pull("openshift"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ConfigNamespace, Name: "openshift-install"},
			Data: map[string]string{"invoker": "hypershift", "version": first}},
	})
}

// privileged lets pods of a namespace do everything.
var privileged = map[string]string{
	"pod-security.kubernetes.io/enforce": "privileged", "pod-security.kubernetes.io/audit": "privileged", "pod-security.kubernetes.io/warn": "privileged",
}

// namespaces are those that OpenShift's tools and operators expect, with what they are known by.
func namespaces(*inside.Facts) []client.Object {
	var out []client.Object
	for _, namespace := range []struct {
		name   string
		labels map[string]string
	}{
		{"openshift", nil}, {contract.ConfigNamespace, nil}, {contract.ManagedNamespace, nil}, {contract.APIOperatorNamespace, nil},
		{contract.OpenShiftAPIServer, nil}, {contract.OpenShiftControllerManager, nil}, {contract.ControllerManagerNamespace, nil},
		{contract.SchedulerNamespace, nil}, {contract.EtcdNamespace, nil}, {contract.AuthenticationNamespace, nil},
		{contract.RouteManager, nil}, {contract.MachineApproverNamespace, nil},
		{contract.InfraNamespace, privileged}, {contract.APIServerNamespace, map[string]string{contract.ClusterMonitoringLabel: "true"}},
	} {
		labels := map[string]string{}
		for key, value := range namespace.labels {
			labels[key] = value
		}
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace.name, Labels: labels}})
	}
	return out
}

// installConfig is what programs that look for an installer's configuration find: tests of conformance, telemetry. It holds facts of the
// cluster only, no pull secret and no key.
func installConfig(facts *inside.Facts) []client.Object {
	hcp := facts.HCP
	replicas := 1
	if hcp.Spec.ControllerAvailabilityPolicy != hyperv1.SingleReplica {
		replicas = 3
	}
	var pods, services, machines []any
	for _, network := range hcp.Spec.Networking.ClusterNetwork {
		pods = append(pods, map[string]any{"cidr": string(network.CIDR), "hostPrefix": int64(component.HostPrefix(network))})
	}
	for _, network := range hcp.Spec.Networking.ServiceNetwork {
		services = append(services, string(network.CIDR))
	}
	for _, network := range hcp.Spec.Networking.MachineNetwork {
		machines = append(machines, map[string]any{"cidr": string(network.CIDR)})
	}
	networking := map[string]any{"networkType": string(hcp.Spec.Networking.NetworkType), "clusterNetwork": pods, "serviceNetwork": services}
	if len(machines) > 0 {
		networking["machineNetwork"] = machines
	}
	config := map[string]any{
		"apiVersion": "v1", "metadata": map[string]any{"name": hcp.Name}, "baseDomain": hcp.Spec.DNS.BaseDomain,
		"controlPlane": map[string]any{"name": "master", "replicas": replicas},
		"networking":   networking, "platform": map[string]any{"none": map[string]any{}}, "publish": "External",
	}
	if azure := hcp.Spec.Platform.Azure; azure != nil {
		config["platform"] = map[string]any{"azure": map[string]any{
			"cloudName": singletons.CloudName(azure), "region": azure.Location, "resourceGroupName": azure.ResourceGroupName}}
		config["credentialsMode"] = "Manual"
		if azure.Topology == hyperv1.AzureTopologyPrivate {
			config["publish"] = "Internal"
		}
	}
	encoded, err := yaml.Marshal(config)
	if err != nil { // strings, numbers and lists of them always encode
		panic(fmt.Errorf("encode the installation's configuration: %w", err))
	}
	return []client.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: "cluster-config-v1"}, Data: map[string]string{"install-config": string(encoded)},
	}}
}
