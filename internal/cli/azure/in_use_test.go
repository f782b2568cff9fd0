package azure

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

const theirs = "/subscriptions/s/resourceGroups/theirs/providers/Microsoft.Network/"

// live is a hosted cluster that runs in Azure.
func live(change func(*hyperv1.HostedClusterSpec)) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name, hc.Spec.InfraID, hc.Spec.IssuerURL, hc.Spec.DNS.BaseDomain = "clusters", "live", "live-y", "https://a.blob.core.windows.net/live", "example.com"
	hc.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{ResourceGroupName: "live-live-y", VnetID: theirs + "virtualNetworks/v", SubnetID: theirs + "virtualNetworks/v/subnets/s",
		SecurityGroupID: theirs + "networkSecurityGroups/n"}
	hc.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities = &hyperv1.AzureWorkloadIdentitySet{Disk: hyperv1.WorkloadIdentity{ClientID: "11111111-AAAA-4333-8444-555555555555"}}
	hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route,
		Route: &hyperv1.RoutePublishingStrategy{Hostname: "api-live.clusters.example.org"}}}}
	if change != nil {
		change(&hc.Spec)
	}
	return hc
}

// A destroy is held up by a cluster that needs what goes, however it names that, and by no other.
func TestWhoUsesWhatGoes(t *testing.T) {
	clients := &identity.WorkloadIdentities{}
	clients.Set("disk", "11111111-aaaa-4333-8444-555555555555")
	other := &identity.WorkloadIdentities{}
	other.Set("file", "11111111-aaaa-4333-8444-555555555555") // of another component
	none := func(s *hyperv1.HostedClusterSpec) { s.Platform.Azure = nil }
	for _, tc := range []struct {
		name   string
		of     uses
		change func(*hyperv1.HostedClusterSpec)
		want   bool
	}{
		{"its infrastructure", ofInfra("live", "live-y"), nil, true},
		{"its infrastructure in capitals", ofInfra("live", "LIVE-Y"), nil, true},
		{"another's infrastructure", ofInfra("demo", "demo-x"), nil, false},
		{"the group of another's infrastructure", ofInfra("demo", "demo-x"), func(s *hyperv1.HostedClusterSpec) { s.Platform.Azure.ResourceGroupName = "Demo-demo-x" }, true},
		{"the network of another's infrastructure", ofInfra("demo", "demo-x"), func(s *hyperv1.HostedClusterSpec) {
			s.Platform.Azure.SubnetID = strings.Replace(s.Platform.Azure.SubnetID, "/theirs/", "/demo-vnet-demo-x/", 1)
		}, true},
		{"the security group of another's infrastructure", ofInfra("demo", "demo-x"), func(s *hyperv1.HostedClusterSpec) {
			s.Platform.Azure.SecurityGroupID = strings.Replace(s.Platform.Azure.SecurityGroupID, "/theirs/", "/demo-nsg-demo-x/", 1)
		}, true},
		{"a cluster that is not in Azure", ofInfra("demo", "demo-x"), none, false},
		{"its identities by the infrastructure id", ofIdentities("live-y", nil), nil, true},
		{"its identities by a client id", ofIdentities("demo-x", clients), nil, true},
		{"a client id of another component", ofIdentities("demo-x", other), nil, false},
		{"no identities are known", ofIdentities("demo-x", nil), nil, false},
		{"identities of a cluster that is not in Azure", ofIdentities("demo-x", clients), none, false},
		{"identities of the managed flavour", ofIdentities("demo-x", clients), func(s *hyperv1.HostedClusterSpec) {
			s.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities = nil
		}, false},
		{"its issuer", ofIssuer("https://a.blob.core.windows.net/live/"), nil, true},
		{"an issuer whose name begins alike", ofIssuer("https://a.blob.core.windows.net/liv"), nil, false},
		{"no issuer", ofIssuer(""), func(s *hyperv1.HostedClusterSpec) { s.IssuerURL = "" }, false},
		{"the zone of its endpoints", ofZone("Clusters.Example.org"), nil, true},
		{"the zone of its base domain", ofZone("example.com"), nil, true},
		{"a zone whose name ends alike", ofZone("ple.com"), nil, false},
		{"a zone beneath it", ofZone("live.example.com"), nil, false},
		{"a zone of an endpoint by load balancer", ofZone("clusters.example.org"), func(s *hyperv1.HostedClusterSpec) {
			s.Services[0].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
		}, false},
	} {
		if got := tc.of(live(tc.change)); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// Nothing is destroyed without a word where nobody can be asked; --yes and a plan are warned and go on.
func TestAGuardDecides(t *testing.T) {
	for _, tc := range []struct {
		name      string
		yes, plan bool
		typed     string
		refused   string // "" goes on
	}{
		{name: "a program", refused: "give --yes"}, {name: "with --yes", yes: true}, {name: "a plan", plan: true},
	} {
		var out, messages bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&messages)
		cmd.SetIn(strings.NewReader(tc.typed))
		cmd.SetContext(t.Context())
		err := (&useGuard{yes: tc.yes}).decide(cmd, "HostedCluster clusters/live needs it", "destroy the cluster first", tc.plan)
		if tc.refused == "" {
			if err != nil || messages.String() != "warning: HostedCluster clusters/live needs it\n" {
				t.Errorf("%s: %v, told %q", tc.name, err, messages.String())
			}
		} else if err == nil || !strings.Contains(err.Error(), tc.refused) || !strings.Contains(err.Error(), "clusters/live") || !strings.Contains(err.Error(), "destroy the cluster first") {
			t.Errorf("%s: %v", tc.name, err)
		}
		if out.Len() != 0 {
			t.Errorf("%s: on stdout %q", tc.name, out.String())
		}
	}
}

// A management cluster that cannot be asked is no word that nobody uses it; without one at hand nobody is asked.
func TestAGuardThatCannotAsk(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	cmd := &cobra.Command{}
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetContext(t.Context())
	everybody := func(*hyperv1.HostedCluster) bool { return true }
	if err := (&useGuard{}).allow(cmd, "the issuer", false, everybody); err != nil {
		t.Errorf("without a kubeconfig: %v", err)
	}
	err := (&useGuard{kubeconfig: "/nowhere/kubeconfig"}).allow(cmd, "the issuer", false, everybody)
	if err == nil || !strings.Contains(err.Error(), "cannot tell whether a hosted cluster uses the issuer") || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("with one that is gone: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cmd.SetContext(ended)
	if err := (&useGuard{kubeconfig: "/nowhere/kubeconfig", yes: true}).allow(cmd, "the issuer", false, everybody); err == nil {
		t.Error("an interruption goes on to destroy")
	}
}

// A refusal names some of the identities, with their groups, and how many there are.
func TestTrustingIdentitiesAreNamed(t *testing.T) {
	var all []identity.Trust
	for range 12 {
		all = append(all, identity.Trust{IdentityID: "/subscriptions/s/resourceGroups/os4-common/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo-disk-demo-x"})
	}
	if got := listed(all); strings.Count(got, "demo-disk-demo-x in resource group os4-common") != 10 || !strings.HasSuffix(got, "and 2 more") {
		t.Error(got)
	}
	if got := listed(all[:1]); strings.Contains(got, "more") || strings.Contains(got, ",") {
		t.Error(got)
	}
}
