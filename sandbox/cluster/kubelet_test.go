package cluster

import (
	"reflect"
	"strings"
	"testing"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"
)

// TestKubeletConfiguration: the kubelet knows every field of its configuration, and a further node has a part of the machine to itself.
func TestKubeletConfiguration(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	var first, second kubeletv1beta1.KubeletConfiguration
	for i, config := range []*kubeletv1beta1.KubeletConfiguration{&first, &second} {
		text, err := c.kubeletOf(node{index: i})
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, config); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
	}
	if first.CgroupRoot != "/" || first.ProviderID == "" || first.HealthzBindAddress != "127.0.0.1" {
		t.Errorf("the first node has cgroups below %q, provider id %q and tells its health at %q", first.CgroupRoot, first.ProviderID, first.HealthzBindAddress)
	}
	if !strings.HasPrefix(second.CgroupRoot, "/") || second.CgroupRoot == "/" || second.ProviderID != "" || second.HealthzBindAddress != second.Address {
		t.Errorf("the second node has cgroups below %q, provider id %q and tells its health at %q of %q", second.CgroupRoot, second.ProviderID, second.HealthzBindAddress, second.Address)
	}
	if first.Address == second.Address {
		t.Errorf("both nodes have the address %s", first.Address)
	}
	second.Address, second.HealthzBindAddress, second.CgroupRoot, second.ProviderID = first.Address, first.HealthzBindAddress, first.CgroupRoot, first.ProviderID
	second.TLSCertFile, second.TLSPrivateKeyFile, second.ContainerRuntimeEndpoint, second.PodLogsDir = first.TLSCertFile, first.TLSPrivateKeyFile, first.ContainerRuntimeEndpoint, first.PodLogsDir
	if !reflect.DeepEqual(first, second) {
		t.Errorf("nodes differ in more than their places: %+v and %+v", first, second)
	}
}
