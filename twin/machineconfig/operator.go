package machineconfig

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
)

// Tags are the images of a payload that the machine-config-operator demands.
var Tags = []string{
	"machine-config-operator", "keepalived-ipfailover", "coredns", "baremetal-runtimecfg", "oauth-proxy", "kube-rbac-proxy", "pod", "haproxy-router", "docker-registry",
}

const apiVersion = "machineconfiguration.openshift.io/v1"

// object is one of the machine-config programs' own kinds.
type object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Spec       map[string]any `json:"spec,omitempty"`
}

type metadata struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// versionAnnotation ties a ControllerConfig to the program that made it.
const versionAnnotation = "machineconfiguration.openshift.io/release-image-version"

// operator makes what the controller reads of the files that describe the cluster.
func operator(args []string, _ io.Writer) error {
	f := newFlags([]string{"cloud-config-file", "mdns-publisher-image"},
		"root-ca", "kube-ca", "infra-config-file", "network-config-file", "proxy-config-file", "dns-config-file", "config-file", "pull-secret",
		"additional-trust-bundle-config-file", "dest-dir", "release-image", "payload-version", "image-references")
	if err := f.parse("bootstrap", args); err != nil {
		return err
	}
	infrastructure := &configv1.Infrastructure{}
	images := map[string]string{}
	err := f.check(
		flagCheck{"payload-version", isVersion}, flagCheck{"dest-dir", isDirectory}, flagCheck{"release-image", isNotEmpty},
		flagCheck{"root-ca", isCertificate}, flagCheck{"kube-ca", isCertificate},
		flagCheck{"infra-config-file", func(file string) error { return checkInfrastructure(file, infrastructure) }},
		flagCheck{"network-config-file", checkNetwork}, flagCheck{"proxy-config-file", checkProxy}, flagCheck{"dns-config-file", checkDNS},
		flagCheck{"config-file", checkInstallConfig}, flagCheck{"pull-secret", checkPullSecret},
		flagCheck{"additional-trust-bundle-config-file", checkTrustBundle},
		flagCheck{"image-references", func(file string) error { return checkReferences(file, f.get("payload-version"), images) }},
		flagCheck{"cloud-config-file", func(file string) error { return checkCloudConfig(file, infrastructure) }},
	)
	if err != nil {
		return err
	}
	rootCA, err := os.ReadFile(f.get("root-ca"))
	if err != nil {
		return err
	}
	kubeletCA, err := os.ReadFile(f.get("kube-ca"))
	if err != nil {
		return err
	}
	config := object{APIVersion: apiVersion, Kind: "ControllerConfig",
		Metadata: metadata{Name: "machine-config-controller", Annotations: map[string]string{versionAnnotation: f.get("payload-version")}},
		Spec: map[string]any{
			"releaseImage": f.get("release-image"), "rootCAData": string(rootCA), "kubeAPIServerServingCAData": string(kubeletCA),
			"images": images, "infra": infrastructure.Status.InfrastructureName, "baseOSContainerImage": images["rhel-coreos"],
			"platform": string(infrastructure.Status.PlatformStatus.Type),
		}}
	return writeOperatorManifests(f, config)
}

func writeOperatorManifests(f *flags, config object) error {
	manifests := filepath.Join(f.get("dest-dir"), "bootstrap", "manifests")
	if err := writeYAML(filepath.Join(manifests, "machineconfigcontroller-controllerconfig.yaml"), config); err != nil {
		return err
	}
	for _, pool := range []string{"master", "worker"} {
		made := object{APIVersion: apiVersion, Kind: "MachineConfigPool", Metadata: metadata{Name: pool}, Spec: map[string]any{
			"machineConfigSelector": map[string]any{"matchLabels": map[string]string{roleLabel: pool}}}}
		if err := writeYAML(filepath.Join(manifests, pool+".machineconfigpool.yaml"), made); err != nil {
			return err
		}
	}
	secret, err := os.ReadFile(f.get("pull-secret"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(manifests, "machineconfigcontroller-pull-secret"), secret, 0o600); err != nil {
		return err
	}
	return writeYAML(filepath.Join(f.get("dest-dir"), "bootstrap", "machineconfigoperator-bootstrap-pod.yaml"), corev1.Pod{})
}

func isNotEmpty(value string) error {
	if value == "" {
		return errors.New("empty")
	}
	return nil
}

func isCertificate(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if block, _ := pem.Decode(raw); block == nil || block.Type != "CERTIFICATE" {
		return errors.New("no certificate")
	}
	return nil
}

func checkInfrastructure(file string, infrastructure *configv1.Infrastructure) error {
	if err := decode(file, infrastructure); err != nil {
		return err
	}
	status := infrastructure.Status
	switch {
	case infrastructure.Kind != "Infrastructure" || infrastructure.Name != "cluster":
		return errors.New("no Infrastructure cluster")
	case status.InfrastructureName == "", status.APIServerURL == "", status.APIServerInternalURL == "", status.EtcdDiscoveryDomain == "":
		return fmt.Errorf("status is not complete: %+v", status)
	case status.ControlPlaneTopology != configv1.ExternalTopologyMode:
		return fmt.Errorf("controlPlaneTopology %q", status.ControlPlaneTopology)
	case status.PlatformStatus == nil || status.PlatformStatus.Type != infrastructure.Spec.PlatformSpec.Type:
		return errors.New("no platform of its own in status")
	case status.PlatformStatus.Type != configv1.AzurePlatformType:
		return nil
	}
	azure := status.PlatformStatus.Azure
	if azure == nil || azure.ResourceGroupName == "" || azure.CloudName == "" || infrastructure.Spec.CloudConfig.Name != "cloud.conf" {
		return fmt.Errorf("Azure is not complete: %+v, cloud config %q", azure, infrastructure.Spec.CloudConfig.Name)
	}
	return nil
}

func checkNetwork(file string) error {
	network := &configv1.Network{}
	if err := decode(file, network); err != nil {
		return err
	}
	if network.Kind != "Network" || network.Name != "cluster" || len(network.Spec.ClusterNetwork) == 0 || network.Spec.ClusterNetwork[0].HostPrefix == 0 ||
		len(network.Spec.ServiceNetwork) == 0 {
		return fmt.Errorf("no Network cluster with networks: %+v", network.Spec)
	}
	return nil
}

func checkProxy(file string) error {
	proxy := &configv1.Proxy{}
	if err := decode(file, proxy); err != nil {
		return err
	}
	if proxy.Kind != "Proxy" || proxy.Name != "cluster" || (proxy.Spec.HTTPProxy != "") != (proxy.Status.HTTPProxy != "") {
		return fmt.Errorf("no Proxy cluster with a status: %+v", proxy)
	}
	return nil
}

func checkDNS(file string) error {
	dns := &configv1.DNS{}
	if err := decode(file, dns); err != nil {
		return err
	}
	if dns.Kind != "DNS" || dns.Name != "cluster" || dns.Spec.BaseDomain == "" {
		return fmt.Errorf("no DNS cluster with a domain: %+v", dns.Spec)
	}
	return nil
}

// installConfig has the members that are given.
type installConfig struct {
	APIVersion string                         `json:"apiVersion"`
	BaseDomain string                         `json:"baseDomain"`
	Metadata   struct{ Name string }          `json:"metadata"`
	Control    struct{ Name, Replicas any }   `json:"controlPlane"`
	Networking struct{ MachineNetwork []any } `json:"networking"`
	Platform   map[string]any                 `json:"platform"`
}

func checkInstallConfig(file string) error {
	config := installConfig{}
	if err := decode(file, &config); err != nil {
		return err
	}
	if config.APIVersion != "v1" || fmt.Sprint(config.Control.Replicas) != "1" || config.Platform["none"] == nil || len(config.Platform) != 1 {
		return fmt.Errorf("no install config of platform none with one replica: %+v", config)
	}
	return nil
}

func checkPullSecret(file string) error {
	secret := &corev1.Secret{}
	if err := decode(file, secret); err != nil {
		return err
	}
	if secret.Kind != "Secret" || secret.Namespace != "default" || secret.Name != "pull-secret" || !json.Valid(secret.Data[corev1.DockerConfigJsonKey]) {
		return errors.New("no Secret default/pull-secret with a pull secret")
	}
	return nil
}

func checkTrustBundle(file string) error {
	config := &corev1.ConfigMap{}
	if err := decode(file, config); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if config.Kind != "ConfigMap" || config.Namespace != "openshift-config" || config.Name != "user-ca-bundle" || config.Data["ca-bundle.crt"] == "" {
		return errors.New("no ConfigMap openshift-config/user-ca-bundle with a bundle")
	}
	return nil
}

func checkReferences(file, version string, images map[string]string) error {
	stream := struct {
		Kind     string                `json:"kind"`
		Metadata struct{ Name string } `json:"metadata"`
		Spec     struct {
			Tags []struct {
				Name string
				From struct{ Name string }
			}
		} `json:"spec"`
	}{}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &stream); err != nil {
		return err
	}
	if stream.Kind != "ImageStream" || stream.Metadata.Name != version {
		return fmt.Errorf("%s %q, and no ImageStream of version %s", stream.Kind, stream.Metadata.Name, version)
	}
	for _, tag := range stream.Spec.Tags {
		images[tag.Name] = tag.From.Name
	}
	missing := slices.DeleteFunc(slices.Clone(Tags), func(tag string) bool { return images[tag] != "" })
	if len(missing) > 0 {
		return fmt.Errorf("it has no %v", missing)
	}
	return nil
}

func checkCloudConfig(file string, infrastructure *configv1.Infrastructure) error {
	onAzure := infrastructure.Status.PlatformStatus.Type == configv1.AzurePlatformType
	if (file != "") != onAzure {
		return fmt.Errorf("platform %s", infrastructure.Status.PlatformStatus.Type)
	}
	if !onAzure {
		return nil
	}
	config := &corev1.ConfigMap{}
	if err := decode(file, config); err != nil {
		return err
	}
	if config.Kind != "ConfigMap" || config.Name == "" || !json.Valid([]byte(config.Data["cloud.conf"])) {
		return errors.New("no ConfigMap with cloud.conf")
	}
	return nil
}
