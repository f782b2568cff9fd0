package stacks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/preflight/preflighttest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
)

// altered gives some of Azure's answers another content: what nobody can bring about in an embedded Azure, such as a quota that is used up.
type altered struct {
	next http.RoundTripper
	path string // the end of it, in lower case
	old  string
	new  string
	late time.Duration // by which Azure's clock is behind
	// status of the answer, where it is not Azure's; opaque has tokens that nobody but Azure can read.
	status int
	opaque bool
}

// opaqueDot stands for the dots of a token that is opaque.
const opaqueDot = "~"

func (a altered) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.opaque {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", strings.ReplaceAll(req.Header.Get("Authorization"), opaqueDot, "."))
	}
	resp, err := a.next.RoundTrip(req)
	if err != nil || !strings.HasSuffix(strings.ToLower(req.URL.Path), a.path) {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(a.old), []byte(a.new))
	switch {
	case a.opaque:
		var answer map[string]any
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, err
		}
		token, _ := answer["access_token"].(string)
		body = bytes.ReplaceAll(body, []byte(token), []byte(strings.ReplaceAll(token, ".", opaqueDot)))
	case a.old == "":
		body = []byte(a.new)
	}
	if a.status != 0 {
		resp.StatusCode, resp.Status = a.status, http.StatusText(a.status)
	}
	if a.late > 0 {
		resp.Header.Set("Date", time.Now().Add(-a.late).UTC().Format(http.TimeFormat))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, nil
}

// demand is a cluster that the world can have.
func demand(t *testing.T, w *world) feasibility.Options {
	t.Helper()
	s := w.session(w.transport)
	made, err := issuer.Create(t.Context(), s, issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: signer(t)}, nil)
	must(t, err)
	o := iamOptions
	o.IssuerURL = made.URL
	clients, err := iam.Create(t.Context(), s, o, nil)
	must(t, err)
	return feasibility.Options{
		Infra: infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true, Identities: clients},
		Machines: feasibility.Machines{Size: "Standard_D4s_v5", Arch: "amd64", Count: 3, Pools: 1, Generation: "V2", PremiumDisks: true,
			Image: imageOf("kinvolk", "flatcar-container-linux-corevm-amd64", "stable-gen2", false)},
		IssuerURL: made.URL, SigningKeyPath: made.PrivateKeyPath, Identities: clients, Resolver: w.server.DNSAddr(),
	}
}

func imageOf(publisher, offer, sku string, plan bool) func(context.Context) feasibility.Image {
	return func(context.Context) feasibility.Image {
		return feasibility.Image{Publisher: publisher, Offer: offer, SKU: sku, Version: "latest", Plan: plan}
	}
}

// Each row of preflight azure, provoked once: the check that finds it, its word, and a remedy. Without a cause nothing warns.
func TestFeasibility(t *testing.T) {
	w := newWorld(t)
	s := w.session(w.transport)
	good := demand(t, w)
	vnet := w.group("theirs") + "/providers/Microsoft.Network/virtualNetworks/vnet"
	subscription := "/subscriptions/" + w.subscription
	none := func() {}
	tally := preflighttest.New()
	for _, tc := range []struct {
		title   string
		change  func(*feasibility.Options)
		answers altered
		before  func(*testing.T) (undo func())
		check   string
		status  preflight.Status
		word    string
	}{
		{title: "all is well", status: preflight.Pass},
		{title: "a subscription that is disabled", answers: altered{path: subscription, old: "Enabled", new: "Disabled"}, check: "subscription", status: preflight.Fail, word: "Disabled"},
		{title: "a clock that is wrong", answers: altered{path: subscription, old: "x", new: "x", late: 7 * time.Minute}, check: "clock", status: preflight.Fail, word: "from Azure's"},
		{title: "a clock that goes wrong", answers: altered{path: subscription, old: "x", new: "x", late: 2 * time.Minute}, check: "clock", status: preflight.Warn, word: "2m"},
		{title: "no such region", change: func(o *feasibility.Options) { o.Infra.Location = "East US" }, check: "region", status: preflight.Fail, word: "no region"},
		{title: "a provider that is not registered", answers: altered{path: "/providers/microsoft.compute", old: `"Registered"`, new: `"NotRegistered"`},
			check: "resource provider Microsoft.Compute", status: preflight.Warn, word: "NotRegistered"},
		{title: "a provider that is being registered", answers: altered{path: "/providers/microsoft.network", old: `"Registered"`, new: `"Registering"`},
			check: "resource provider Microsoft.Network", status: preflight.Warn, word: "being registered"},
		{title: "a right that notActions take away", answers: altered{path: subscription + "/providers/microsoft.authorization/permissions", new: `{"value":[{"actions":["*"],"notActions":["Microsoft.Network/virtualNetworks/*"]}]}`},
			check: "rights on the subscription", status: preflight.Fail, word: "Microsoft.Network/virtualNetworks/write"},
		{title: "a right that is missing in a group", change: func(o *feasibility.Options) { o.Infra.DNSZoneGroup, o.Infra.AppsZone = common, infra.AppsZoneShared }, answers: altered{path: "/resourcegroups/" + common + "/providers/microsoft.authorization/permissions", new: `{"value":[{"actions":["*/read"],"notActions":[]}]}`},
			check: "rights on resource group " + common, status: preflight.Fail, word: "Microsoft.Authorization/roleAssignments/write"},
		{title: "a delegation that may not be made", answers: altered{path: "/resourcegroups/" + common + "/providers/microsoft.authorization/permissions", new: `{"value":[{"actions":["*/read"],"notActions":[]}]}`},
			check: "rights on resource group " + common, status: preflight.Fail, word: "Microsoft.Network/dnszones/NS/write"},
		{title: "a deny assignment for everybody", answers: altered{path: subscription + "/providers/microsoft.authorization/denyassignments", new: denial(subscription, everybody, "")},
			check: "deny assignments on the subscription", status: preflight.Fail, word: `"guard" on ` + subscription + " denies Microsoft.Network/"},
		{title: "a deny assignment for a group", answers: altered{path: subscription + "/providers/microsoft.authorization/denyassignments", new: denial(subscription, `{"id":"5e41ce00-0000-4000-8000-0000000000ff","type":"Group"}`, "")},
			check: "deny assignments on the subscription", status: preflight.Warn, word: "to groups"},
		{title: "a deny assignment for all but some", answers: altered{path: subscription + "/providers/microsoft.authorization/denyassignments", new: denial(subscription, everybody, `{"id":"5e41ce00-0000-4000-8000-0000000000ff"}`)},
			check: "deny assignments on the subscription", status: preflight.Warn, word: "all but groups"},
		{title: "a deny assignment of what is above alone", answers: altered{path: subscription + "/providers/microsoft.authorization/denyassignments", new: denial("/providers/Microsoft.Management/managementGroups/m", everybody, "")},
			check: "deny assignments on the subscription", status: preflight.Pass, word: "none"},
		{title: "a policy that denies public addresses", before: func(t *testing.T) func() {
			return w.denies(t, s, `{"field":"type","equals":"Microsoft.Network/publicIPAddresses"}`)
		}, check: "policies on Microsoft.Network/publicIPAddresses", status: preflight.Fail, word: "/policyAssignments/preflight would deny it"},
		{title: "a policy on sizes", before: func(t *testing.T) func() {
			return w.denies(t, s, `{"field":"Microsoft.Compute/virtualMachines/hardwareProfile.vmSize","equals":"Standard_D4s_v5"}`)
		}, check: "policies on Microsoft.Compute/virtualMachines", status: preflight.Fail, word: "would deny it"},
		{title: "a policy on tags of groups that are met", change: func(o *feasibility.Options) { o.Infra.Tags = map[string]string{"team": "blue"} }, before: func(t *testing.T) func() {
			return w.denies(t, s, `{"allOf":[{"field":"type","equals":"Microsoft.Resources/resourceGroups"},{"field":"tags['team']","notEquals":"blue"}]}`)
		}, check: "policies on Microsoft.Resources/resourceGroups", status: preflight.Pass, word: "none"},
		{title: "a subnet that is not there", change: func(o *feasibility.Options) { o.Infra.VNetID, o.Infra.SubnetID = vnet, vnet+"/subnets/none" }, check: "subnet", status: preflight.Fail, word: "there is no"},
		{title: "a subnet without a security group", change: theirs(vnet), before: w.network(s, "", ""), check: "network security group of the subnet", status: preflight.Warn, word: "has none"},
		{title: "a subnet that is too small", change: theirs(vnet), before: w.network(s, `,"addressPrefix":"10.9.9.0/29"`, ""), check: "room in the subnet", status: preflight.Fail, word: "3 addresses are free, 4 are needed"},
		{title: "a subnet for something else", change: theirs(vnet), before: w.network(s, `,"delegations":[{"name":"d","properties":{"serviceName":"Microsoft.Sql/managedInstances"}}]`, ""), check: "delegation of the subnet", status: preflight.Fail, word: "Microsoft.Sql/managedInstances"},
		{title: "routes into nothing", change: theirs(vnet), before: w.network(s, "", `{"addressPrefix":"0.0.0.0/0","nextHopType":"None"}`), check: "route table rules", status: preflight.Fail, word: "leads all that leaves to None"},
		{title: "routes by a firewall", change: theirs(vnet), before: w.network(s, "", `{"addressPrefix":"0.0.0.0/0","nextHopType":"VirtualAppliance","nextHopIpAddress":"10.0.0.9"}`), check: "route table rules", status: preflight.Warn, word: "VirtualAppliance 10.0.0.9"},
		{title: "other routes", change: theirs(vnet), before: w.network(s, "", `{"addressPrefix":"10.1.0.0/16","nextHopType":"None"}`), check: "route table rules", status: preflight.Pass, word: "nothing astray"},
		{title: "two halves into nothing", change: theirs(vnet), before: w.network(s, "", `{"addressPrefix":"0.0.0.0/1","nextHopType":"None"}},{"name":"more","properties":{"addressPrefix":"128.0.0.0/1","nextHopType":"None"}`), check: "route table rules", status: preflight.Fail, word: "routes all, more lead all that leaves to None"},
		{title: "rules against a service tag", change: theirs(vnet), before: w.network(s, ruled, "", deny("Outbound", "443", "AzureActiveDirectory", 200)), check: "network security group rules: out to 443", status: preflight.Warn, word: "rule r200 denies it to AzureActiveDirectory"},
		{title: "the subnet of infrastructure that is there", change: built(vnet, "facts"), before: w.network(s, ruled, "", deny("Outbound", "443", "*", 200)), check: "network security group rules: out to 443", status: preflight.Fail, word: "rule r200 denies it"},
		{title: "a subnet of the infrastructure that is gone", change: built(vnet, "none"), check: "subnet", status: preflight.Fail, word: "there is no"},
		{title: "a security group without a subnet", change: func(o *feasibility.Options) {
			o.Infra.NSGID = w.group("theirs") + "/providers/Microsoft.Network/networkSecurityGroups/rules"
		}, before: w.network(s, ruled, "", deny("Outbound", "443", "*", 200)), check: "network security group rules: out to 443", status: preflight.Fail, word: "rule r200 denies it"},
		{title: "a security group that is not there", change: func(o *feasibility.Options) {
			o.Infra.NSGID = w.group("theirs") + "/providers/Microsoft.Network/networkSecurityGroups/absent"
		}, check: "network security group absent", status: preflight.Fail, word: "there is no"},
		{title: "pools in a subnet that is not there", change: pools(vnet, "none"), check: "subnet of the node pools", status: preflight.Fail, word: "there is no"},
		{title: "pools in a subnet without a security group", change: pools(vnet, "facts"), before: w.network(s, "", ""), check: "network security group of the subnet of the node pools", status: preflight.Warn, word: "has none"},
		{title: "pools in a small subnet", change: pools(vnet, "facts"), before: w.network(s, `,"addressPrefix":"10.9.9.0/29"`, ""), check: "room in the subnet of the node pools", status: preflight.Fail, word: "3 addresses are free, 4 are needed"},
		{title: "pools in a subnet for something else", change: pools(vnet, "facts"), before: w.network(s, `,"delegations":[{"name":"d","properties":{"serviceName":"Microsoft.Sql/managedInstances"}}]`, ""), check: "delegation of the subnet of the node pools", status: preflight.Fail, word: "Microsoft.Sql/managedInstances"},
		{title: "rules that keep the API server away", change: theirs(vnet), before: w.network(s, ruled, "", deny("Outbound", "6000-7000", "Internet", 200)), check: "network security group rules: out to 6443", status: preflight.Fail, word: "rule r200 denies it, and machines need it for: API server"},
		{title: "rules that keep konnectivity away", change: theirs(vnet), before: w.network(s, ruled, "", deny("Outbound", "8091", "*", 200)), check: "network security group rules: out to 8091", status: preflight.Fail, word: "konnectivity"},
		{title: "rules that keep ignition away", change: theirs(vnet), before: w.network(s, ruled, "", deny("Outbound", "443", "*", 200)), check: "network security group rules: out to 443", status: preflight.Fail, word: "ignition"},
		{title: "rules that allow some", change: theirs(vnet), before: w.network(s, ruled, "", strings.Replace(deny("Outbound", "6443", "198.18.0.0/16", 150), "Deny", "Allow", 1), deny("Outbound", "*", "*", 200)), check: "network security group rules: out to 6443", status: preflight.Warn, word: "only to what r150 allow"},
		{title: "rules that come too late", change: theirs(vnet), before: w.network(s, ruled, "", strings.Replace(deny("Outbound", "*", "Internet", 150), "Deny", "Allow", 1), deny("Outbound", "*", "*", 200)), check: "network security group rules: out to 6443", status: preflight.Pass, word: "allowed by r150"},
		{title: "rules about names: one port is enough", change: func(o *feasibility.Options) { theirs(vnet)(o); o.ExternalDNSDomain = domain }, before: w.network(s, ruled, "", deny("Outbound", "443", "*", 200)), check: "network security group rules: out to 443", status: preflight.Fail, word: "API server, konnectivity, ignition"},
		{title: "rules that keep visitors away", change: theirs(vnet), before: w.network(s, ruled, "", deny("Inbound", "0-1024", "*", 200)), check: "network security group rules: in to 443", status: preflight.Warn, word: "rule r200 denies it"},
		{title: "another group than the subnet's", change: func(o *feasibility.Options) {
			theirs(vnet)(o)
			o.Infra.NSGID = w.group("theirs") + "/providers/Microsoft.Network/networkSecurityGroups/other"
		}, before: w.network(s, ruled, ""), check: "network security group rules: in to 443", status: preflight.Warn, word: "writes its rules into other"},
		{title: "no such size", change: func(o *feasibility.Options) { o.Machines.Size = "Standard_D4_v9" }, check: "machine size Standard_D4_v9", status: preflight.Fail, word: "no such size"},
		{title: "a size that the region does not give", change: func(o *feasibility.Options) {
			o.Infra.Location, o.Machines.Size, o.Machines.Arch = "westus", "Standard_D4ps_v5", "arm64"
		}, check: "machine size Standard_D4ps_v5", status: preflight.Fail, word: "NotAvailableForSubscription"},
		{title: "a size of another architecture", change: func(o *feasibility.Options) { o.Machines.Size = "Standard_D4ps_v5" }, check: "machine size Standard_D4ps_v5", status: preflight.Fail, word: "it is arm64"},
		{title: "a zone without the size", change: func(o *feasibility.Options) { o.Machines.Zones = []string{"2"} }, answers: altered{path: "/skus", old: `"zones":["1","2","3"]`, new: `"zones":["1","3"]`},
			check: "machine size Standard_D4s_v5", status: preflight.Fail, word: "zone 2 does not have it; zones 1, 3 do"},
		{title: "a size without premium disks", change: func(o *feasibility.Options) { o.Machines.Size, o.Machines.Generation = "Standard_A4_v2", "V1" }, check: "machine size Standard_A4_v2", status: preflight.Fail, word: "premium"},
		{title: "a size without an ephemeral disk", change: func(o *feasibility.Options) { o.Machines.EphemeralDisk = true }, check: "machine size Standard_D4s_v5", status: preflight.Fail, word: "ephemeral"},
		{title: "a quota that is too small", change: func(o *feasibility.Options) { o.Machines.Count = 251 }, check: "quota of standardDSv5Family", status: preflight.Fail, word: "1000 of 1000"},
		{title: "a quota without room for upgrades", change: func(o *feasibility.Options) { o.Machines.Count = 250 }, check: "quota of standardDSv5Family", status: preflight.Warn, word: "4 more while they are upgraded"},
		{title: "all cores in use", answers: altered{path: "/microsoft.compute/locations/eastus/usages", old: `"limit":2000`, new: `"limit":8`}, check: "quota of all cores", status: preflight.Fail, word: "8 of 8"},
		{title: "no public addresses", answers: altered{path: "/microsoft.network/locations/eastus/usages", old: `"limit":1000`, new: `"limit":1`}, check: "quota of public addresses", status: preflight.Fail, word: "of 1 are left"},
		{title: "no such image", change: func(o *feasibility.Options) {
			o.Machines.Image = imageOf("kinvolk", "flatcar-container-linux-corevm-amd64", "beta", false)
		}, check: "machine image", status: preflight.Fail, word: "has no image"},
		{title: "an image of another generation", change: func(o *feasibility.Options) {
			o.Machines.Image = imageOf("kinvolk", "flatcar-container-linux-corevm-amd64", "stable", false)
		}, check: "machine image", status: preflight.Fail, word: "generation V1"},
		{title: "an image of another architecture", change: func(o *feasibility.Options) {
			o.Machines.Image = imageOf("kinvolk", "flatcar-container-linux-corevm", "stable", false)
		}, check: "machine image", status: preflight.Fail, word: "for arm64"},
		{title: "a plan that nobody names", change: func(o *feasibility.Options) {
			o.Machines.Image = imageOf("kinvolk", "flatcar-container-linux-free", "stable-gen2", false)
		}, check: "machine image", status: preflight.Fail, word: "purchase plan: true"},
		{title: "terms that nobody has accepted", change: func(o *feasibility.Options) {
			o.Machines.Image = imageOf("kinvolk", "flatcar-container-linux-free", "stable-gen2", true)
		}, check: "marketplace terms", status: preflight.Fail, word: "nobody has accepted"},
		{title: "a group of somebody else", before: func(t *testing.T) func() {
			id := w.group(cluster + "-" + infraID)
			_, err := s.Put(t.Context(), id, "2021-04-01", azure.Resource{Location: location})
			must(t, err)
			return func() { must(t, s.Delete(context.Background(), id, "2021-04-01")) }
		}, check: "names of resource groups", status: preflight.Warn, word: cluster + "-" + infraID},
		{title: "a private zone that shadows", change: func(o *feasibility.Options) { o.Infra.VNetID, o.Infra.SubnetID = vnet, vnet+"/subnets/workers" }, before: func(t *testing.T) func() {
			zone, link := w.zoneWithLink("hub")
			return func() {
				must(t, s.Delete(context.Background(), link, "2020-06-01"))
				must(t, s.Delete(context.Background(), zone, "2020-06-01"))
			}
		}, check: "private DNS zones of the network", status: preflight.Fail, word: "hides the cluster's names"},
		{title: "ranges of the network that is made", change: func(o *feasibility.Options) {
			o.Infra.Ranges = []infra.Range{{Name: "--cluster-cidr", Prefix: netip.MustParsePrefix("10.0.4.0/22")}}
		}, check: "ranges of pods and Services", status: preflight.Fail, word: "--cluster-cidr 10.0.4.0/22 overlaps"},
		{title: "ranges of the user's network", change: func(o *feasibility.Options) {
			o.Infra.VNetID, o.Infra.SubnetID = vnet, vnet+"/subnets/workers"
			o.Infra.Ranges = []infra.Range{{Name: "--service-cidr", Prefix: netip.MustParsePrefix("10.9.8.0/22")}}
		}, check: "ranges of pods and Services", status: preflight.Fail, word: "--service-cidr 10.9.8.0/22 overlaps 10.9.0.0/16"},
		{title: "no zone of the base domain", change: func(o *feasibility.Options) { o.Infra.BaseDomain = "other.test" }, check: "DNS zone other.test", status: preflight.Fail, word: "no public zone"},
		{title: "no zone, and none is needed", change: func(o *feasibility.Options) {
			o.Infra.BaseDomain, o.Infra.PublicZoneOptional = "other.test", true
		}, check: "DNS zone other.test", status: preflight.Warn, word: "no public zone"},
		{title: "a zone in another group", change: func(o *feasibility.Options) { o.Infra.DNSZoneGroup, o.Infra.AppsZone = "theirs", infra.AppsZoneShared }, check: "resource group of the DNS zone", status: preflight.Warn, word: "the zone lies in " + common},
		{title: "a record that is there", before: func(t *testing.T) func() {
			id := s.ResourceID(common, "Microsoft.Network/dnsZones", domain) + "/A/*.apps." + cluster
			_, err := s.Put(t.Context(), id, "2018-05-01", azure.Resource{Properties: map[string]any{"TTL": 60, "ARecords": []any{map[string]any{"ipv4Address": "198.18.1.1"}}}})
			must(t, err)
			return func() { must(t, s.Delete(context.Background(), id, "2018-05-01")) }
		}, check: "DNS name *.apps." + cluster + "." + domain, status: preflight.Warn, word: "has a record"},
		{title: "a zone that is delegated elsewhere", change: func(o *feasibility.Options) { o.Resolver = nameServer(t, "ns.elsewhere.test.") }, check: "delegation of " + domain, status: preflight.Fail, word: "DNS says ns.elsewhere.test"},
		{title: "a zone that is not delegated", change: func(o *feasibility.Options) { o.Resolver = nameServer(t, "") }, check: "delegation of " + domain, status: preflight.Fail, word: "knows no name servers"},
		{title: "a DNS server that does not answer", change: func(o *feasibility.Options) { o.Resolver = "127.0.0.1:1" }, check: "delegation of " + domain, status: preflight.Skip, word: "127.0.0.1:1"},
		{title: "no zone of the endpoints", change: func(o *feasibility.Options) { o.ExternalDNSDomain = "clusters.nowhere.test" }, check: "DNS zone of clusters.nowhere.test", status: preflight.Warn, word: "no public zone"},
		{title: "an issuer that is not there", change: func(o *feasibility.Options) { o.IssuerURL += "x" }, check: "issuer discovery document", status: preflight.Fail, word: "to anyone who has not signed in"},
		{title: "another key", change: func(o *feasibility.Options) { o.SigningKeyPath = signer(t) }, check: "issuer published key", status: preflight.Fail, word: "is not among them"},
		{title: "an identity that is not there", change: func(o *feasibility.Options) {
			other := *o.Identities
			other.Disk.ClientID = w.subscription
			o.Identities, o.Infra.Identities = &other, &other
		}, check: "identity disk", status: preflight.Fail, word: "no managed identity"},
		{title: "a credential with another subject", before: func(t *testing.T) func() {
			id := s.ResourceID(common, "Microsoft.ManagedIdentity/userAssignedIdentities", "demo-ingress-demo-x") + "/federatedIdentityCredentials/demo-ingress-fed-id"
			put := func(subject string) {
				must(t, identity.FederatedNode(s, id, identity.Federation{Issuer: good.IssuerURL, Subject: subject, Audience: "openshift"}, "f", "i").Apply(context.Background()))
			}
			put("system:serviceaccount:a:b")
			return func() { put("system:serviceaccount:openshift-ingress-operator:ingress-operator") }
		}, check: "federated credential openshift-ingress-operator:ingress-operator", status: preflight.Fail, word: "subject"},
		{title: "roles that nobody gives", change: func(o *feasibility.Options) { o.Infra.AssignRoles = false }, check: "role assignments", status: preflight.Warn, word: "nobody is asked"},
		{title: "no base domain", change: func(o *feasibility.Options) { o.Infra.BaseDomain = "" }, check: "DNS zone of the base domain", status: preflight.Skip, word: "no base domain"},
		{title: "a key that is not there", change: func(o *feasibility.Options) { o.SigningKeyPath = "absent" }, check: "issuer and identities", status: preflight.Fail, word: "absent"},
		{title: "a token that only Azure can read", answers: altered{path: "/oauth2/v2.0/token", opaque: true}, check: "deny assignments", status: preflight.Skip, word: "not a JWT"},
		{title: "a quota that may not be read", answers: altered{path: "/microsoft.compute/locations/eastus/usages", new: refusal("AuthorizationFailed"), status: http.StatusForbidden},
			check: "quota of cores", status: preflight.Skip, word: "AuthorizationFailed"},
		{title: "rules that may not be read", change: theirs(vnet), before: w.network(s, ruled, ""), answers: altered{path: "/networksecuritygroups/rules", new: refusal("AuthorizationFailed"), status: http.StatusForbidden},
			check: "network security group rules", status: preflight.Skip, word: "AuthorizationFailed"},
		{title: "infrastructure that is gone", change: gone, check: "infrastructure resource group", status: preflight.Fail, word: "ResourceGroupNotFound"},
		{title: "roles that are gone", change: gone, check: "role disk on gone", status: preflight.Fail, word: "does not hold role"},
		{title: "roles of an identity that is not there", change: func(o *feasibility.Options) {
			other := *o.Identities
			other.Disk.ClientID = w.subscription
			o.Identities = &other
			gone(o)
		}, check: "role disk", status: preflight.Fail, word: "has this client id"},
		{title: "no issuer", change: func(o *feasibility.Options) { o.IssuerURL, o.Identities = "", nil }, check: "issuer", status: preflight.Skip, word: "no issuer"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			undo := none
			if tc.before != nil {
				undo = tc.before(t)
			}
			defer undo()
			o := good
			if tc.change != nil {
				tc.change(&o)
			}
			tc.answers.next = w.transport
			via := http.RoundTripper(w.transport)
			if tc.answers.path != "" {
				via = tc.answers
			}
			checks, err := feasibility.Look(t.Context(), w.session(via), o)
			must(t, err)
			tally.Found(t, checks)
			assertFound(t, checks, tc.check, tc.status, tc.word)
		})
	}
	t.Run("without a sign-in", func(t *testing.T) { tally.Found(t, lookWithoutSignIn(t, w)) })
	tally.Complete(t, preflight.AtAzure)
}

// everybody is the principal of a deny assignment for all of the directory, ruled has a subnet take the group "rules".
const (
	everybody = `{"id":"00000000-0000-0000-0000-000000000000","type":"SystemDefined"}`
	ruled     = `,"networkSecurityGroup":{"id":"NSG"}`
)

// refusal is an error of Azure's.
func refusal(code string) string { return `{"error":{"code":"` + code + `","message":"no"}}` }

// gone has the cluster use infrastructure that somebody has deleted.
func gone(o *feasibility.Options) {
	o.Output = &infra.Output{InfraID: infraID, Region: location, BaseDomain: domain, ResourceGroupName: "gone", WorkloadIdentities: o.Identities}
}

// denial is what Azure answers of a deny assignment that reaches nothing beneath its scope and keeps networks from being written.
func denial(scope, principal, excluded string) string {
	return `{"value":[{"properties":{"denyAssignmentName":"guard","scope":"` + scope + `","doNotApplyToChildScopes":true,"permissions":[{"actions":["Microsoft.Network/*"],"notActions":["*/read"]}],"principals":[` + principal + `],"excludePrincipals":[` + excluded + `]}}]}`
}

// denies assigns a policy that denies what meets the condition.
func (w *world) denies(t *testing.T, s *azure.Session, condition string) (undo func()) {
	t.Helper()
	const authorization, version = "/providers/Microsoft.Authorization/", "2021-06-01"
	definition, assignment := "/subscriptions/"+w.subscription+authorization+"policyDefinitions/preflight", "/subscriptions/"+w.subscription+authorization+"policyAssignments/preflight"
	var rule map[string]any
	must(t, json.Unmarshal([]byte(`{"if":`+condition+`,"then":{"effect":"deny"}}`), &rule))
	_, err := s.Put(t.Context(), definition, version, azure.Resource{Properties: map[string]any{"mode": "All", "policyRule": rule}})
	must(t, err)
	_, err = s.Put(t.Context(), assignment, version, azure.Resource{Properties: map[string]any{"policyDefinitionId": definition}})
	must(t, err)
	return func() {
		must(t, s.Delete(context.Background(), assignment, version))
		must(t, s.Delete(context.Background(), definition, version))
	}
}

// theirs has the cluster take the user's subnet "facts".
func theirs(vnet string) func(*feasibility.Options) {
	return func(o *feasibility.Options) { o.Infra.VNetID, o.Infra.SubnetID = vnet, vnet+"/subnets/facts" }
}

// built has the cluster take a subnet that infrastructure which is there names, and pools has its node pools take one.
func built(vnet, subnet string) func(*feasibility.Options) {
	return func(o *feasibility.Options) {
		o.Output = &infra.Output{InfraID: infraID, Region: location, BaseDomain: domain, ResourceGroupName: "theirs", VNetID: vnet, SubnetID: vnet + "/subnets/" + subnet, WorkloadIdentities: o.Identities}
	}
}

func pools(vnet, subnet string) func(*feasibility.Options) {
	return func(o *feasibility.Options) { o.Machines.Subnet = vnet + "/subnets/" + subnet }
}

func deny(direction, ports, far string, priority int) string {
	source, destination := "*", far
	if direction == "Inbound" {
		source, destination = far, "*"
	}
	return fmt.Sprintf(`{"name":"r%d","properties":{"access":"Deny","direction":%q,"protocol":"Tcp","priority":%d,"sourcePortRange":"*","destinationPortRange":%q,"sourceAddressPrefix":%q,"destinationAddressPrefix":%q}}`, priority, direction, priority, ports, source, destination)
}

// network makes the subnet "facts" with more properties, a route table of a route, and a security group of rules; undo takes them away.
func (w *world) network(s *azure.Session, subnet, route string, rules ...string) func(*testing.T) func() {
	return func(t *testing.T) func() {
		t.Helper()
		var made []string
		put := func(id, properties string) {
			t.Helper()
			body := azure.Resource{Location: location}
			if strings.Contains(id, "/subnets/") {
				body.Location = ""
			}
			must(t, json.Unmarshal([]byte(properties), &body.Properties))
			_, err := s.Put(t.Context(), id, "2023-11-01", body)
			must(t, err)
			made = append(made, id)
		}
		base := w.group("theirs") + "/providers/Microsoft.Network/"
		if route != "" {
			put(base+"routeTables/rules", `{"routes":[{"name":"all","properties":`+route+`}]}`)
			subnet += `,"routeTable":{"id":"` + base + `routeTables/rules"}`
		}
		if strings.Contains(subnet, "NSG") {
			put(base+"networkSecurityGroups/rules", `{"securityRules":[`+strings.Join(rules, ",")+`]}`)
			subnet = strings.Replace(subnet, "NSG", base+"networkSecurityGroups/rules", 1)
		}
		if !strings.Contains(subnet, "addressPrefix") {
			subnet += `,"addressPrefix":"10.9.9.0/24"`
		}
		put(base+"virtualNetworks/vnet/subnets/facts", "{"+subnet[1:]+"}")
		return func() {
			for _, id := range slices.Backward(made) {
				must(t, s.Delete(context.Background(), id, "2023-11-01"))
			}
		}
	}
}

// nameServer is a DNS server that says to whom every domain is delegated, or that there is none.
func nameServer(t *testing.T, to string) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if to != "" {
			answer.Answer = append(answer.Answer, &dns.NS{Hdr: dns.RR_Header{Name: question.Question[0].Name, Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: 60}, Ns: to})
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}

func assertFound(t *testing.T, checks []preflight.Check, name string, status preflight.Status, word string) {
	t.Helper()
	found := false
	for _, c := range checks {
		if name == "" && c.Status != preflight.Pass {
			t.Errorf("%+v", c)
		}
		if c.Name == name {
			found = true
			if c.Status != status || !strings.Contains(c.Detail, word) {
				t.Errorf("%+v, want %s with %q", c, status, word)
			}
		}
	}
	if name != "" && !found || len(checks) < 20 {
		names := []string{}
		for _, c := range checks {
			names = append(names, c.Name)
		}
		t.Errorf("%d checks, %s is not among them: %s", len(checks), name, strings.Join(names, ", "))
	}
}

// lookWithoutSignIn: credentials that do not sign in are one finding, not one per row.
func lookWithoutSignIn(t *testing.T, w *world) []preflight.Check {
	t.Helper()
	s, err := azure.NewSession(azure.Credentials{SubscriptionID: w.subscription, TenantID: tenant, ClientID: client, ClientSecret: "wrong"}, "", azure.WithHTTPClient(&http.Client{Transport: w.transport}))
	must(t, err)
	checks, err := feasibility.Look(t.Context(), s, feasibility.Options{Infra: infra.Options{Location: location}})
	must(t, err)
	if len(checks) != 1 || checks[0].Name != "credentials" || checks[0].Status != preflight.Fail || !strings.Contains(checks[0].Detail, "AADSTS7000215") {
		t.Errorf("%+v", checks)
	}
	return checks
}

// TestFeasibilityRounds: where each call of Azure's takes 100 ms, the look ends in three seconds.
func TestFeasibilityRounds(t *testing.T) {
	w := newWorld(t)
	r := &preflighttest.Rounds{Next: w.transport}
	o := demand(t, w)
	o.ExternalDNSDomain, o.Infra.DNSZoneGroup, o.Infra.AppsZone = "clusters."+domain, common, infra.AppsZoneShared
	checks, err := feasibility.Look(t.Context(), w.session(r), o)
	must(t, err)
	rounds, calls := r.Counted()
	t.Logf("%d checks by %d calls in %d rounds", len(checks), calls, rounds)
	if most := preflighttest.MostRounds; calls < 40 || rounds > most {
		t.Errorf("%d calls in %d rounds, may be %d", calls, rounds, most)
	}
}
