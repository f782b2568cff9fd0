package cluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// finds is a look that finds what it is told to, and keeps what it was asked.
func finds(asked *feasibility.Options, checks ...preflight.Check) Looker {
	return func(ctx context.Context, _ *azure.Session, o feasibility.Options) ([]preflight.Check, error) {
		*asked = o
		asked.Machines.Image = nil
		image := o.Machines.Image(ctx)
		return append([]preflight.Check{{Name: "image " + image.SKU, Status: preflight.Pass}}, checks...), nil
	}
}

func typedAt(t *testing.T, cmd *cobra.Command, args ...string) (stdout, messages string, err error) {
	t.Helper()
	var out, said bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return out.String(), said.String(), err
}

// What the flags of preflight azure say is what Azure is asked for, --azure-creds among them.
func TestPreflightAzureFlags(t *testing.T) {
	inputs := clitest.Inputs(t)
	var asked feasibility.Options
	out, _, err := typedAt(t, NewPreflightAzureCommand(finds(&asked)), append(inputs[:2], strings.Fields("--name demo --infra-id demo-x --base-domain example.com --base-domain-prefix own --external-dns-domain ext.example.org "+
		"--location westus --cloud AzurePublicCloud --node-pool-replicas 2 --availability-zones 1,3 --instance-type Standard_D8s_v3 --enable-ephemeral-disk --encryption-at-host Enabled --image-generation Gen1 "+
		"--marketplace-publisher pub --marketplace-offer off --marketplace-sku sku --marketplace-version 1.2.3 --nodepool-subnet-id /subscriptions/s/subnet --cluster-cidr 10.200.0.0/16 --service-cidr 10.201.0.0/16 "+
		"--oidc-issuer-url https://issuer.example.com/x --sa-token-issuer-private-key-path key --workload-identities-file "+inputs[5]+" --dns-zone-rg-name zones --assign-service-principal-roles --dns-resolver 192.0.2.1:53")...)...)
	if err != nil || !strings.Contains(out, "image sku") {
		t.Fatalf("%v\n%s", err, out)
	}
	var other feasibility.Options
	if _, _, err := typedAt(t, NewPreflightAzureCommand(finds(&other)), append(inputs[:2:2], "--azure-instance-type", "Standard_D2s_v3", "--cloud", "AzureMoonCloud")...); err == nil || !strings.Contains(err.Error(), "--cloud") {
		t.Errorf("%v", err)
	}
	i, m := asked.Infra, asked.Machines
	for what, ok := range map[string]bool{
		"infra":      i.Name == "demo" && i.InfraID == "demo-x" && i.BaseDomain == "example.com" && *i.BaseDomainPrefix == "own" && i.Location == "westus" && i.DNSZoneGroup == "zones" && i.AssignRoles,
		"ranges":     len(i.Ranges) == 2,
		"machines":   m.Size == "Standard_D8s_v3" && m.Arch == "amd64" && m.Count == 4 && m.Pools == 2 && strings.Join(m.Zones, "") == "13" && m.Generation == "V1" && m.Subnet == "/subscriptions/s/subnet" && m.EphemeralDisk && m.PremiumDisks && m.EncryptionAtHost,
		"identities": asked.IssuerURL == "https://issuer.example.com/x" && asked.SigningKeyPath == "key" && asked.Identities != nil,
		"DNS":        asked.ExternalDNSDomain == "ext.example.org" && asked.Resolver == "192.0.2.1:53",
	} {
		if !ok {
			t.Errorf("%s: %+v", what, asked)
		}
	}
}

// Bad flags are refused before Azure is asked; what is not given is not asked for.
func TestPreflightAzureRefusals(t *testing.T) {
	creds := clitest.Inputs(t)[:2]
	for line, refusal := range map[string]string{"": "", "--cluster-cidr 10.0.0.0/99": "--cluster-cidr", "--instance-type Big": "--instance-type", "--availability-zones 4": "--availability-zones", "--base-domain a_b": "--base-domain", "--output xml": "xml"} {
		var asked feasibility.Options
		_, _, err := typedAt(t, NewPreflightAzureCommand(finds(&asked)), append(creds, strings.Fields(line)...)...)
		if (err != nil) != (refusal != "") || err != nil && !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// The exit status is that of the worst check: --strict, --output.
func TestPreflightAzureSeverity(t *testing.T) {
	creds := clitest.Inputs(t)[:2]
	warned, failed := preflight.Check{Name: "w", Status: preflight.Warn, Detail: "d", Remedy: "r"}, preflight.Check{Name: "f", Status: preflight.Fail, Detail: "d", Remedy: "r"}
	for _, tc := range []struct {
		checks        []preflight.Check
		flags         string
		refusal, part string
	}{
		{nil, "", "", "pass"},
		{[]preflight.Check{warned}, "", "", "to do: r"},
		{[]preflight.Check{warned}, "--strict", "a check warns", "warn"},
		{[]preflight.Check{warned, failed}, "-o json", "1 of 3 checks failed", `"status": "fail"`},
		{[]preflight.Check{failed}, "-o yaml", "1 of 2 checks failed", "status: fail"},
	} {
		var asked feasibility.Options
		out, _, err := typedAt(t, NewPreflightAzureCommand(finds(&asked, tc.checks...)), append(creds, strings.Fields(tc.flags)...)...)
		if (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(out, tc.part) {
			t.Errorf("%+v: %v\n%s", tc, err, out)
		}
	}
}

// create cluster azure looks before its first write: what fails ends it, what warns is said, and --skip-preflight leaves the look out.
func TestCreateLooksAhead(t *testing.T) {
	failed := preflight.Check{Name: "quota", Status: preflight.Fail, Detail: "used up", Remedy: "ask for more"}
	for _, tc := range []struct {
		check           preflight.Check
		flags           string
		refusal, warned string
		made            bool
	}{
		{failed, "", "quota: used up; ask for more", "", false},
		{failed, "--skip-preflight", "", "", true},
		{preflight.Check{Name: "zone", Status: preflight.Warn, Detail: "is not there", Remedy: "make it"}, "", "", "warning: zone: is not there; make it", true},
		{preflight.Check{Name: "quota", Status: preflight.Skip, Detail: "forbidden", Remedy: "have somebody look"}, "", "", "", true},
	} {
		made := false
		var asked feasibility.Options
		cmd := NewCreateAzureCommand(func(ctx context.Context, s *azure.Session, o infra.Options, say func(stack.Event)) (*infra.Output, error) {
			made = true
			return clitest.Infra(ctx, s, o, say)
		}, clitest.Releases{}, finds(&asked, tc.check))
		// A rendering asks no management cluster, and writes to Azure.
		_, messages, err := typedAt(t, cmd, append(append(clitest.Inputs(t), "--name", "demo", "--render"), strings.Fields(tc.flags)...)...)
		if made != tc.made || (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(messages, tc.warned) {
			t.Errorf("%+v: made is %v, %v\n%s", tc, made, err, messages)
		}
	}
}

// What create cluster azure refuses, preflight cluster refuses as well, but for what only a creation has.
func TestPreflightRefusesAsCreateDoes(t *testing.T) {
	for _, tc := range append(createRefusals, struct{ args, cue string }{"--from absent.yaml", "cannot read the hand-off file"}) {
		if words := strings.Fields(tc.args); slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains([]string{"--wait", "--dry-run", "--render-into", "-o"}, w)
		}) {
			continue
		}
		t.Run(tc.args, func(t *testing.T) {
			look := func(context.Context, *azure.Session, feasibility.Options) ([]preflight.Check, error) {
				t.Error("Azure is asked")
				return nil, nil
			}
			_, _, err := typedAt(t, NewPreflightClusterCommand(look, clitest.Releases{}), append(clitest.Inputs(t), strings.Fields(tc.args)...)...)
			if err == nil || !strings.Contains(err.Error(), tc.cue) {
				t.Errorf("error %v, want one that contains %q", err, tc.cue)
			}
		})
	}
}

// preflight cluster takes every flag that says how create cluster azure makes a cluster, and judges it: a line of all of them comes as far as the
// management cluster, which is not there.
func TestPreflightRefusesNothingThatCreateTakes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inputs := clitest.Inputs(t)
	line := "--name demo --infra-id demo-x --namespace other --arch amd64 --auto-repair --availability-zone 1 --root-disk-size 64 --disk-storage-account-type StandardSSD_LRS --disk-encryption-set-id /subscriptions/s/set " +
		"--diagnostics-storage-account-type UserManaged --diagnostics-storage-account-uri https://a.example.com/ --node-upgrade-type Replace --nodepool-subnet-id /subscriptions/s/subnet --machine-cidr 10.7.0.0/16 " +
		"--marketplace-publisher pub --marketplace-offer o --marketplace-sku s --marketplace-version latest --marketplace-purchase-plan --resource-group-name rg " +
		"--vnet-id " + clitest.VNet + " --subnet-id " + clitest.VNet + "/subnets/default --network-security-group-id " + strings.Replace(clitest.VNet, "virtualNetworks", "networkSecurityGroups", 1) +
		" --private-dns-zone-id " + strings.Replace(clitest.VNet, "virtualNetworks/vnet", "privateDnsZones/demo.example.com", 1) + " --public-ip-id " + strings.Replace(clitest.VNet, "virtualNetworks", "publicIPAddresses", 1) +
		" --additional-trust-bundle " + file("ca", clitest.Certificate(t)) + " --annotations a=b --additional-tags a=b --labels a=b --auto-assign-roles --dns-zone-rg-name zones --apps-zone own --resource-group-tags a=b --control-plane-availability-policy HighlyAvailable " +
		"--infra-availability-policy SingleReplica --control-plane-operator-image quay.io/o/o:1 --disable-cluster-capabilities ImageRegistry --enable-cluster-capabilities Insights --etcd-storage-class fast --etcd-storage-size 9Gi " +
		"--generate-ssh --image-content-sources " + file("mirrors", "[]") + " --kas-dns-name api.example.org --network-type Other --disable-multi-network --allocate-node-cidrs --node-drain-timeout 1m --node-volume-detach-timeout 1m --node-selector a=b " +
		"--oauth-publishing-strategy Route --olm-catalog-placement guest --olm-disable-default-sources --pausedUntil true --pods-labels a=b --toleration key=a --timeout 1m --version-check --endpoint-access Public --kubeconfig " + filepath.Join(dir, "absent")
	look := func(context.Context, *azure.Session, feasibility.Options) ([]preflight.Check, error) { return nil, nil }
	if _, _, err := typedAt(t, NewPreflightClusterCommand(look, clitest.Releases{}), append(inputs, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "absent")) {
		t.Errorf("%v", err)
	}
	// These exclude others of the line, or need what this version's operator does not have.
	for _, alone := range []string{
		"--default-dual", "--load-balancer-id x", "--fips", "--feature-set TechPreviewNoUpgrade", "--ovn-kubernetes-mtu 1400", "--ssh-key absent", "--infra-json absent", "--release-stream 4-stable", "--release-image a:b:c",
		"--encryption-key-id x", "--encryption-key-file absent", "--restore-snapshot-url-file absent", "--kms-credentials-secret-name s", "--managed-identities-file absent", "--data-plane-identities-file absent", "--assign-custom-hcp-roles",
		"--endpoint-access-private-nat-subnet-id x", "--endpoint-access-private-additional-allowed-subscriptions x", "--pull-secret absent",
	} {
		_, _, err := typedAt(t, NewPreflightClusterCommand(look, clitest.Releases{}), append(append(inputs, "--name", "demo", "--kubeconfig", filepath.Join(dir, "absent")), strings.Fields(alone)...)...)
		if err == nil || strings.Contains(err.Error(), "unknown flag") {
			t.Errorf("%s: %v", alone, err)
		}
	}
}
