// Package clitest has what tests of several commands share: input files, fakes, and the table of flags.
package clitest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

const (
	// UUID stands for a subscription, a tenant, a client.
	UUID = "11111111-2222-4333-8444-555555555555"
	// VNet is the ARM id of a virtual network.
	VNet = "/subscriptions/" + UUID + "/resourceGroups/v/providers/Microsoft.Network/virtualNetworks/vnet"
)

// Inputs writes the files that create cluster reads and returns the flags that name them.
func Inputs(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	identities := ""
	for _, name := range []string{"imageRegistry", "ingress", "file", "disk", "nodePoolManagement", "cloudProvider", "network"} {
		identities += `"` + name + `":{"clientID":"` + UUID + `"},`
	}
	return []string{
		"--azure-creds", write("creds.json", `{"subscriptionId":"`+UUID+`","tenantId":"`+UUID+`","clientId":"`+UUID+`","clientSecret":"s"}`),
		"--pull-secret", write("pull.json", `{"auths":{}}`),
		"--workload-identities-file", write("wi.json", "{"+strings.TrimSuffix(identities, ",")+"}"),
		"--base-domain", "example.com", "--release-image", "quay.io/release:1", "--node-pool-replicas", "1",
	}
}

// Infra is infrastructure that is said to be made.
func Infra(_ context.Context, _ *azure.Session, o infra.Options, _ func(stack.Event)) (*infra.Output, error) {
	return &infra.Output{
		BaseDomain: o.BaseDomain, Region: o.Location, InfraID: o.InfraID, ResourceGroupName: o.Name + "-" + o.InfraID,
		VNetID: VNet, SubnetID: VNet + "/subnets/default", SecurityGroupID: "NSG", WorkloadIdentities: o.Identities,
	}, nil
}

// Releases is a registry in which every image is a payload that can run.
type Releases struct {
	// Images of each payload; none by default.
	Images map[string]string
}

// Lookup implements release.Provider.
func (r Releases) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	return &release.Release{Image: image, Version: "4.21.0", Architecture: release.ArchMulti, Images: r.Images}, nil
}

// Client is a management cluster that holds the objects.
func Client(objs ...client.Object) client.Client {
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = hyperv1.AddToScheme(scheme)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).WithStatusSubresource(&hyperv1.HostedCluster{}).Build()
}

// Certificate is one in PEM.
func Certificate(t *testing.T) string {
	t.Helper()
	authorities := pki.Authorities()[:1]
	made, err := pki.EnsureAuthorities(nil, authorities, pki.DefaultPolicy(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return string(made[authorities[0].Secret][authorities[0].CertKey])
}

// Kubeconfig is a valid one.
const Kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://api.example.com:7443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// HostedCluster is one in namespace clusters, whose kubeconfig is reported or not.
func HostedCluster(name string, reported bool) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{SubnetID: "SUBNET"}}
	hc.Spec.Release.Image = "quay.io/release:1"
	if reported {
		hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: name + "-admin-kubeconfig"}
	}
	return hc
}
