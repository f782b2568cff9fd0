package fieldflags

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
)

const (
	network = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/g/providers/Microsoft.Network/"
	long    = "a23456789012345678901234567890123456789012345678901234567890123"
)

// refusals are errors of every domain that names fields.
func refusals(t *testing.T) []error {
	var errs []error
	for _, change := range []func(*issuer.Options){
		func(o *issuer.Options) { o.Name = "" },
		func(o *issuer.Options) { o.Name = "A" },
		func(o *issuer.Options) { o.ResourceGroup = "" },
		func(o *issuer.Options) { o.ResourceGroup = "a." },
		func(o *issuer.Options) { o.StorageAccount = "A" },
		func(o *issuer.Options) { o.PublicKey = "p" },
		func(o *issuer.Options) { o.Tags = map[string]string{"a<": "b"} },
		func(o *issuer.Options) { o.Tags = map[string]string{"a": strings.Repeat("b", 300)} },
	} {
		o := issuer.Options{Name: "demo", ResourceGroup: "g"}
		change(&o)
		errs = append(errs, o.Validate())
	}
	for _, change := range []func(*iam.Options){
		func(o *iam.Options) { *o = iam.Options{} },
		func(o *iam.Options) { o.Name = "A" },
		func(o *iam.Options) { o.InfraID = "A" },
		func(o *iam.Options) { o.ResourceGroup = "a." },
		func(o *iam.Options) { o.IssuerURL = "http://x/" },
		func(o *iam.Options) { o.Tags = map[string]string{"": "b"} },
		func(o *iam.Options) { o.Roles = &iam.RoleScopes{} },
		func(o *iam.Options) { o.Roles = &iam.RoleScopes{ResourceGroup: "g", VNetID: "x"} },
		func(o *iam.Options) { o.Roles = &iam.RoleScopes{ResourceGroup: "g", NSGID: "x"} },
		func(o *iam.Options) { o.Roles = &iam.RoleScopes{ResourceGroup: "a."} },
		func(o *iam.Options) { o.Roles = &iam.RoleScopes{ResourceGroup: "g", DNSZoneGroup: "a."} },
	} {
		o := iam.Options{Name: "demo", InfraID: "demo-x", ResourceGroup: "g", IssuerURL: "https://i"}
		change(&o)
		errs = append(errs, o.Validate())
	}
	for _, change := range []func(*infra.Options){
		func(o *infra.Options) { *o = infra.Options{} },
		func(o *infra.Options) { o.BaseDomain = "nonsense" },
		func(o *infra.Options) { o.VNetID = "x" },
		func(o *infra.Options) { o.SubnetID = "x" },
		func(o *infra.Options) { o.NSGID = "x" },
		func(o *infra.Options) { o.PrivateZoneID = "x" },
		func(o *infra.Options) { o.PublicIPID = "x" },
		func(o *infra.Options) { o.LoadBalancerID = "x" },
		func(o *infra.Options) { o.Name = "A" },
		func(o *infra.Options) { o.InfraID = "A" },
		func(o *infra.Options) { o.Name, o.InfraID = long, "demo-x" },
		func(o *infra.Options) { o.ResourceGroup = "a." },
		func(o *infra.Options) { o.DNSZoneGroup = "a." },
		func(o *infra.Options) { o.Tags = map[string]string{"": "b"} },
		func(o *infra.Options) { o.PrivateZoneID = network + "privateDnsZones/other.test" },
		func(o *infra.Options) { o.LoadBalancerID = network + "loadBalancers/demo-x" },
		func(o *infra.Options) { o.LoadBalancerID, o.ResourceGroup = network+"loadBalancers/other", "g" },
		func(o *infra.Options) {
			o.LoadBalancerID, o.ResourceGroup, o.PublicIPID = network+"loadBalancers/demo-x", "g", network+"publicIPAddresses/p"
		},
		func(o *infra.Options) { o.VNetID = network + "virtualNetworks/v" },
		func(o *infra.Options) { o.SubnetID = network + "virtualNetworks/v/subnets/s" },
		func(o *infra.Options) {
			o.VNetID, o.SubnetID = network+"virtualNetworks/v", network+"virtualNetworks/w/subnets/s"
		},
		func(o *infra.Options) { o.AssignRoles = true },
		func(o *infra.Options) { o.AssignRoles, o.Managed = true, &hyperv1.AzureResourceManagedIdentities{} },
		func(o *infra.Options) {
			o.Ranges = []infra.Range{{Name: "--cluster-cidr", Prefix: netip.MustParsePrefix("10.0.0.0/8")}}
		},
	} {
		o := infra.Options{Name: "demo", InfraID: "demo-x", BaseDomain: "b.test", Location: "l"}
		change(&o)
		errs = append(errs, o.Validate())
	}
	for _, change := range []func(*dns.Options){
		func(o *dns.Options) { o.Zone = "x" },
		func(o *dns.Options) { o.ResourceGroup = "" },
		func(o *dns.Options) { o.ResourceGroup = "a." },
		func(o *dns.Options) { o.ParentZoneID, o.SkipDelegation = "x", true },
		func(o *dns.Options) { o.ParentZoneID = "x" },
		func(o *dns.Options) { o.ParentZoneID = network + "dnsZones/other.test" },
		func(o *dns.Options) { o.ManagementURL, o.ServicePrincipal = "https://m", "s" },
		func(o *dns.Options) { o.ManagementURL = "http://m" },
		func(o *dns.Options) { o.ServicePrincipal = "s" },
		func(o *dns.Options) { o.Resolver = "x" },
		func(o *dns.Options) { o.Tags = map[string]string{"": "b"} },
	} {
		o := dns.Options{Zone: "c.b.test", ResourceGroup: "g"}
		change(&o)
		errs = append(errs, o.Validate())
	}
	errs = append(errs, provision.PrerequisitesOptions{Issuer: issuer.Options{Name: "demo", ResourceGroup: "g"},
		IAM:   iam.Options{Name: "demo", InfraID: "demo-x", ResourceGroup: "g"},
		DNS:   dns.Options{Zone: "b.test", ResourceGroup: "g"},
		Infra: infra.Options{Name: "demo", InfraID: "demo-x", BaseDomain: "b.test", Location: "l"}}.Validate())
	_, err := provision.RotateIssuer(t.Context(), nil, provision.RotateOptions{Issuer: issuer.Options{Name: "demo", ResourceGroup: "g", PrivateKey: "p"}})
	errs = append(errs, err)
	_, err = provision.RotateIssuer(t.Context(), nil, provision.RotateOptions{Issuer: issuer.Options{Name: "demo", ResourceGroup: "g"}})
	errs = append(errs, err)
	_, err = issuer.WriteDocuments(t.Context(), nil, issuer.Options{}, "http://x")
	errs = append(errs, err)
	for _, read := range []func(string) error{
		func(path string) error { _, err := identity.ReadWorkloadIdentities(path); return err },
		func(path string) error { _, err := identity.ReadManagedIdentities(path); return err },
		func(path string) error { _, err := identity.ReadDataPlaneIdentities(path); return err },
		func(path string) error { _, err := infra.ReadOutput(path); return err },
	} {
		errs = append(errs, read("absent"), read(filepath.Join("testdata", "list.json")))
	}
	return append(errs, refusedInstallations()...)
}

func refusedInstallations() []error {
	var errs []error
	with := func(e install.ExternalDNS) func(*install.Options) {
		return func(o *install.Options) { o.ExternalDNS = e }
	}
	const secret, identityOnly = `{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","aadClientId":"c","aadClientSecret":"x"}`,
		`{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","useWorkloadIdentityExtension":true}`
	for _, change := range []func(*install.Options){
		func(o *install.Options) { o.Platforms = []string{"moon"} },
		func(o *install.Options) { o.ImagePullPolicy = "sometimes" },
		func(o *install.Options) { o.MetricsSet = "none" },
		func(o *install.Options) { o.Namespace = "Hyper Shift" },
		func(o *install.Options) { o.IngressDomain = "*.apps" },
		func(o *install.Options) { o.PlatformMonitoring = "all" },
		func(o *install.Options) { o.PrivatePlatform = "Azure" },
		func(o *install.Options) { o.PrivatePlatform = "moon" },
		func(o *install.Options) { o.CertRotationScale = 25 * time.Hour },
		func(o *install.Options) { o.NoCAPIMigration, o.NoCAPIConversion = true, true },
		func(o *install.Options) { o.PullSecret = []byte(`{"quay.io":{}}`) },
		func(o *install.Options) { o.TrustBundle = []byte("hello") },
		func(o *install.Options) { o.EgressBlockCIDRs = []string{"10.0.0.1"} },
		func(o *install.Options) { o.RegistryOverrides = "quay.io" },
		func(o *install.Options) { o.ReleaseRegistries = []string{"A B"} },
		func(o *install.Options) { o.ReleaseSignatureKeys = []byte("hello") },
		func(o *install.Options) { o.ExtraEnv = map[string]string{"A B": "c"} },
		with(install.ExternalDNS{Provider: "moon"}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "*", SecretName: "s", Credentials: []byte("c")}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", Interval: "soon"}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", AWSZonesCache: "1h", GoogleProject: "p"}),
		with(install.ExternalDNS{Provider: "aws", DomainFilter: "d", SecretName: "s", AWSZonesCache: "soon", ClientID: "c"}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte("{}")}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(secret), ClientID: "c"}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(identityOnly)}),
		with(install.ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", ClientID: "c"}),
	} {
		o := install.Options{Namespace: "hypershift", ImagePullPolicy: "Always", MetricsSet: "All", PrivatePlatform: "None", CertRotationScale: 24 * time.Hour}
		change(&o)
		errs = append(errs, o.Normalize())
	}
	return errs
}

// TestErrorsNameFlags holds the texts that users see.
func TestErrorsNameFlags(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "refusals.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i, err := range refusals(t) {
		if err == nil {
			t.Errorf("case %d is accepted", i)
			continue
		}
		got.WriteString(strings.ReplaceAll(err.Error(), "\n", "\n  ") + "\n")
	}
	if got.String() != string(want) {
		t.Errorf("the texts have changed:\n%s", got.String())
	}
}
