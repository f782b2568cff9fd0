package cli

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// validate checks everything that the flags alone can tell, before any file is read and any call is made. The first failure
// is reported; scripts rely on the order up to the machines.
func (f *clusterFlags) validate() error {
	if f.renderInto != "" || f.renderSensitive {
		f.render = true
	}
	for _, check := range []func() error{
		f.validateBasics, f.machines.validateArch, f.validateFeatureSet, f.validateCapabilities, f.validateAPIServerName, f.validateNetworking,
		f.validateRoles, f.validateFlavour, f.validatePublishing, f.validateDomain, f.validateZones, f.machines.validate,
		f.validateInputs, f.validateNames, f.validateRanges, f.validateSpec,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (f *clusterFlags) validateBasics() error {
	c := &f.cluster
	switch {
	case c.Name == "" || f.pullSecret == "":
		return f.missing() // all of it at once
	case f.wait && f.machines.Replicas < 1:
		return errors.New("--wait requires --node-pool-replicas of at least 1: a cluster without nodes never completes its rollout")
	case f.wait && (f.render || f.dryRun):
		return errors.New("--wait and rendering exclude each other: nothing is applied that could be waited for")
	case f.render && f.output == "json":
		return errors.New("--output says how the result of a run is printed; --render prints the manifests, which are YAML")
	case len(validation.IsDNS1123Label(c.Name)) > 0:
		return fmt.Errorf("--name %q is not an RFC1123 label: lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit", c.Name)
	}
	return nil
}

// missing names every flag that has to be given and is not.
func (f *clusterFlags) missing() error {
	var errs []error
	for _, required := range []struct {
		missing bool
		text    string
	}{
		{f.cluster.Name == "", "--name is required"},
		{f.pullSecret == "", "--pull-secret is required: the release's images are pulled with it"},
		{f.credentials == "" && !f.rendersHandoff(), "--azure-creds is required: the file with subscriptionId, tenantId, clientId and clientSecret"},
		{f.cluster.ReleaseImage == "" && f.releaseStream == "" && !f.render, "--release-image is required: this build names no default release"},
		{f.infra.BaseDomain == "" && f.infraJSON == "", "--base-domain is required: the cluster's applications are published beneath it"},
		{f.workloadIdentities == "" && f.infraJSON == "" && f.infra.Identities == nil && !f.managed.given(), "--workload-identities-file is required; `hypershift create iam azure` writes it"},
	} {
		if required.missing {
			errs = append(errs, errors.New(required.text))
		}
	}
	return errors.Join(errs...)
}

// rendersHandoff is a rendering for which the hand-off file has all that Azure could tell.
func (f *clusterFlags) rendersHandoff() bool {
	return f.render && f.fromInfra != nil && f.handoff.SubscriptionID != "" && f.handoff.TenantID != ""
}

// validateInputs checks which flags need or exclude each other.
func (f *clusterFlags) validateInputs() error {
	if err := f.missing(); err != nil {
		return err
	}
	switch {
	case f.sshKey != "" && f.generateSSH:
		return errors.New("--ssh-key and --generate-ssh cannot be specified together")
	case f.signingKey != "" && f.cluster.Identity.IssuerURL == "":
		return errors.New("--sa-token-issuer-private-key-path needs --oidc-issuer-url: the issuer whose documents publish the key")
	}
	for _, image := range []struct{ flag, value string }{{"--release-image", f.cluster.ReleaseImage}, {"--control-plane-operator-image", f.controlPlaneOperatorImage}} {
		if err := checkImage(image.flag, image.value); err != nil {
			return err
		}
	}
	return checkWritable("--render-into", f.renderInto)
}

var (
	infraIDPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	domainPattern  = regexp.MustCompile(`^([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+$`)
)

// validateNames checks what the management cluster would refuse only after the infrastructure has been made.
func (f *clusterFlags) validateNames() error {
	c := &f.cluster
	domains := []struct{ flag, value string }{{"--base-domain", f.infra.BaseDomain}, {"--external-dns-domain", c.Publishing.ExternalDNSDomain}}
	if f.baseDomainPrefix != "" && f.baseDomainPrefix != "none" {
		domains = append(domains, struct{ flag, value string }{"--base-domain-prefix", f.baseDomainPrefix})
	}
	for _, d := range domains {
		if d.value != "" && !domainPattern.MatchString(d.value) {
			return fmt.Errorf("%s %q is not a domain name", d.flag, d.value)
		}
	}
	if external := c.Publishing.ExternalDNSDomain; external != "" {
		if !strings.Contains(external, ".") {
			return fmt.Errorf("--external-dns-domain %q has no dot; give a DNS zone such as clusters.example.com", external)
		}
		if label := "konnectivity-" + c.Name; len(label) > validation.DNS1123LabelMaxLength {
			return fmt.Errorf("--name %q is too long to publish %s.%s: a part of a DNS name has at most %d characters", c.Name, label, external, validation.DNS1123LabelMaxLength)
		}
	}
	if len(validation.IsDNS1123Label(c.Namespace)) > 0 {
		return fmt.Errorf("--namespace %q is not a name of a namespace", c.Namespace)
	}
	if id := f.infra.InfraID; id != "" && !infraIDPattern.MatchString(id) {
		return fmt.Errorf("--infra-id %q is not valid; use lower-case letters, digits and dashes", id)
	}
	if issuer := c.Identity.IssuerURL; issuer != "" {
		if u, err := url.Parse(issuer); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--oidc-issuer-url %q is not an https URL", issuer)
		}
	}
	return nil
}

var capabilityNames = []string{imageRegistryCapability, "openshift-samples", "Insights", "baremetal", "Console", "NodeTuning", "Ingress"}

func (f *clusterFlags) validateFeatureSet() error {
	switch set := f.cluster.FeatureSet; set {
	case "", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade":
		return nil
	case "CustomNoUpgrade":
		return errors.New("--feature-set CustomNoUpgrade is not supported: single gates cannot be given by flag; set spec.configuration.featureGate")
	default:
		return fmt.Errorf("--feature-set %q is not supported; use TechPreviewNoUpgrade or DevPreviewNoUpgrade", set)
	}
}

func (f *clusterFlags) validateAPIServerName() error {
	if name := f.cluster.KubeAPIServerDNSName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--kas-dns-name %q is not a DNS name", name)
	}
	return nil
}

func (f *clusterFlags) validateSpec() error {
	c := &f.cluster
	if p := c.PausedUntil; p != "" && p != "true" {
		if _, err := time.Parse(time.RFC3339, p); err != nil {
			return fmt.Errorf("invalid pausedUntil value %q; use true or an RFC3339 time", p)
		}
	}
	for _, p := range []struct{ flag, value string }{
		{"--control-plane-availability-policy", f.controlPlanePolicy}, {"--infra-availability-policy", f.infraPolicy},
	} {
		if !slices.Contains([]string{"", string(hyperv1.SingleReplica), string(hyperv1.HighlyAvailable)}, p.value) {
			return fmt.Errorf("%s %q is unknown; use SingleReplica or HighlyAvailable", p.flag, p.value)
		}
	}
	if !slices.Contains([]string{"management", "guest"}, strings.ToLower(f.catalogPlacement)) {
		return fmt.Errorf("--olm-catalog-placement %q is unknown; use management or guest", f.catalogPlacement)
	}
	return nil
}

func (f *clusterFlags) validateCapabilities() error {
	c := &f.cluster
	for _, name := range c.DisabledCapabilities {
		if !slices.Contains(capabilityNames, name) {
			return fmt.Errorf("unknown disabled capability %q; known are %s", name, strings.Join(capabilityNames, ", "))
		}
	}
	for _, name := range c.EnabledCapabilities {
		if !slices.Contains(capabilityNames, name) {
			return fmt.Errorf("unknown enabled capability %q; known are %s", name, strings.Join(capabilityNames, ", "))
		}
	}
	if slices.Contains(c.DisabledCapabilities, "Ingress") && !slices.Contains(c.DisabledCapabilities, "Console") {
		return errors.New("capability Ingress can only be disabled together with Console, which needs it")
	}
	return nil
}

func (f *clusterFlags) validateNetworking() error {
	n := &f.cluster.Networking
	isOther := f.networkType == string(hyperv1.OtherNetwork)
	switch {
	case !slices.Contains([]string{"OVNKubernetes", "OpenShiftSDN", "Calico", "Other"}, f.networkType):
		return fmt.Errorf("--network-type %q is unknown; use OVNKubernetes, OpenShiftSDN, Calico or Other", f.networkType)
	case n.DisableMultiNetwork && !isOther:
		return errors.New("--disable-multi-network is only valid with --network-type Other")
	case n.AllocateNodeCIDRs && !isOther:
		return errors.New("--allocate-node-cidrs is only valid with --network-type Other")
	case n.OVNKubernetesMTU != 0 && f.networkType != "OVNKubernetes":
		return errors.New("--ovn-kubernetes-mtu is only valid with --network-type OVNKubernetes")
	case n.OVNKubernetesMTU != 0 && (n.OVNKubernetesMTU < 576 || n.OVNKubernetesMTU > 9216):
		return fmt.Errorf("--ovn-kubernetes-mtu %d is out of range; use 576 to 9216", n.OVNKubernetesMTU)
	}
	return nil
}

func (f *clusterFlags) validateRoles() error {
	i := &f.infra
	switch {
	case i.NSGID != "" && i.ResourceGroup == "":
		return errors.New("--resource-group-name is required when --network-security-group-id is given")
	case (i.AssignRoles || i.CustomRoles) && f.infraJSON != "":
		return errors.New("--assign-service-principal-roles cannot be used with --infra-json; use `create infra azure --assign-identity-roles`")
	}
	return nil
}

// validateFlavour checks that the flags are of one of the two flavours of clusters.
func (f *clusterFlags) validateFlavour() error {
	if err := f.managed.check(f.workloadIdentities); err != nil {
		return err
	}
	switch {
	case f.managed.kmsSecret != "" && f.encryptionKeyID == "":
		return errors.New("--kms-credentials-secret-name needs --encryption-key-id: the key that the credentials are for")
	case f.managed.given() && f.encryptionKeyID != "" && f.managed.kmsSecret == "":
		return errors.New("--encryption-key-id needs --kms-credentials-secret-name where managed identities are used")
	case f.managed.kmsSecret != "" && !f.managed.given() && f.infraJSON == "":
		return errors.New("--kms-credentials-secret-name is for managed identities; workload identities have kmsClientID in their file")
	}
	return nil
}

func (f *clusterFlags) validatePublishing() error {
	if !slices.Contains([]string{"Public", "PublicAndPrivate", "Private"}, f.endpointAccess) {
		return fmt.Errorf("--endpoint-access must be one of Public, PublicAndPrivate, Private; it is %q", f.endpointAccess)
	}
	if f.oauth != "Route" && f.oauth != "LoadBalancer" {
		return fmt.Errorf("--oauth-publishing-strategy must be either Route or LoadBalancer; it is %q", f.oauth)
	}
	if f.oauth == "LoadBalancer" && f.managed.given() {
		return errors.New("--oauth-publishing-strategy LoadBalancer is not supported for ARO HCP, whose clusters use managed identities; use Route")
	}
	p := &f.cluster.Publishing
	if id := p.NATSubnetID; id != "" {
		if _, err := azure.ParseID(id); err != nil {
			return fmt.Errorf("--endpoint-access-private-nat-subnet-id is not a valid Azure resource ID: %w", err)
		}
		lower := strings.ToLower(id)
		if !strings.Contains(lower, "/virtualnetworks/") || !strings.Contains(lower, "/subnets/") {
			return errors.New("--endpoint-access-private-nat-subnet-id must be a subnet resource ID (.../virtualNetworks/V/subnets/N)")
		}
	}
	if f.endpointAccess != "Public" && p.NATSubnetID == "" && len(p.AdditionalAllowedSubscriptions) == 0 {
		return fmt.Errorf("--endpoint-access %s needs --endpoint-access-private-nat-subnet-id or --endpoint-access-private-additional-allowed-subscriptions", f.endpointAccess)
	}
	return nil
}

// validateDomain refuses an external domain at or above the cluster's own: the cluster's private zone would hide the public
// records beneath it.
func (f *clusterFlags) validateDomain() error {
	if f.cluster.Publishing.ExternalDNSDomain == "" || f.infra.BaseDomain == "" {
		return nil
	}
	normal := func(s string) string { return strings.TrimSuffix(strings.ToLower(s), ".") }
	external, own := normal(f.cluster.Publishing.ExternalDNSDomain), normal(f.clusterDomain())
	if own == external || strings.HasSuffix(own, "."+external) {
		return fmt.Errorf("--external-dns-domain %s conflicts with cluster domain %s: the cluster's private zone would hide its records; use a domain that is not above it", external, own)
	}
	return nil
}

func (f *clusterFlags) clusterDomain() string {
	switch f.baseDomainPrefix {
	case "":
		return f.cluster.Name + "." + f.infra.BaseDomain
	case "none":
		return f.infra.BaseDomain
	}
	return f.baseDomainPrefix + "." + f.infra.BaseDomain
}

func (f *clusterFlags) validateZones() error {
	for i, zone := range f.cluster.Zones {
		if !slices.Contains([]string{"1", "2", "3"}, zone) {
			return fmt.Errorf("invalid value for --availability-zones: %q; use 1, 2 or 3", zone)
		}
		if slices.Contains(f.cluster.Zones[:i], zone) {
			return fmt.Errorf("--availability-zones names zone %s twice; each zone has one node pool", zone)
		}
	}
	return nil
}
