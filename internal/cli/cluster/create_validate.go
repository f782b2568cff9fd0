package cluster

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
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// validated is a cluster whose flags do not contradict each other, with their files read and their values parsed.
type validated struct {
	typed   typed
	cluster manifest.Cluster
	infra   infra.Options
}

// validate checks everything that the flags alone can tell, before any file is read and any call is made, and then reads and parses, so
// that nothing that may fail is left after the first cloud resource. The first failure is reported; scripts rely on the order up to the
// machines.
func validate(t typed) (validated, error) {
	for _, check := range t.checks() {
		if err := check(); err != nil {
			return validated{}, err
		}
	}
	v := validated{typed: t, cluster: t.cluster, infra: t.infra}
	for _, step := range []func() error{
		v.loadRanges, v.loadSecrets, v.loadRestore, v.loadIdentities, v.loadKMS, v.loadMetadata, v.loadSpec, v.loadImageSources,
	} {
		if err := step(); err != nil {
			return validated{}, err
		}
	}
	return v, nil
}

// checks are those of the flags alone, in their order.
func (t typed) checks() []func() error {
	return []func() error{
		t.validateBasics, t.machines.ValidateArch, t.validateFeatureSet, t.validateCapabilities, t.validateAPIServerName, t.validateNetworking,
		t.validateRoles, t.validateFlavour, t.validatePublishing, t.validateDomain, t.validateZones, t.machines.Validate,
		t.validateInputs, t.validateNames, t.validateRanges, t.validateSpec,
	}
}

func (t typed) validateBasics() error {
	c := &t.cluster
	switch {
	case c.Name == "" || t.pullSecret == "":
		return t.missing() // all of it at once
	case t.wait && t.machines.Replicas < 1:
		return errors.New("--wait requires --node-pool-replicas of at least 1: a cluster without nodes never completes its rollout")
	case t.wait && (t.render || t.DryRun):
		return errors.New("--wait and rendering exclude each other: nothing is applied that could be waited for")
	case t.render && t.Output == "json":
		return errors.New("--output says how the result of a run is printed; --render prints the manifests, which are YAML")
	case len(validation.IsDNS1123Label(c.Name)) > 0:
		return fmt.Errorf("--name %q is not an RFC1123 label: lower-case letters, digits and dashes, at most 63, beginning and ending with a letter or digit", c.Name)
	}
	return nil
}

// missing names every flag that has to be given and is not.
func (t typed) missing() error {
	var errs []error
	for _, required := range []struct {
		missing bool
		text    string
	}{
		{t.cluster.Name == "", "--name is required"},
		{t.pullSecret == "", "--pull-secret is required: the release's images are pulled with it"},
		{t.Credentials == "" && !t.rendersHandoff(), "--azure-creds is required: the file with subscriptionId, tenantId, clientId and clientSecret"},
		{t.cluster.ReleaseImage == "" && t.releaseStream == "" && !t.render, "--release-image is required: this build names no default release"},
		{t.infra.BaseDomain == "" && t.infraJSON == "", "--base-domain is required: the cluster's applications are published beneath it"},
		{t.workloadIdentities == "" && t.infraJSON == "" && t.infra.Identities == nil && !t.managed.Given(), "--workload-identities-file is required; `hypershift create iam azure` writes it"},
	} {
		if required.missing {
			errs = append(errs, errors.New(required.text))
		}
	}
	return errors.Join(errs...)
}

// rendersHandoff is a rendering for which the hand-off file has all that Azure could tell.
func (t typed) rendersHandoff() bool {
	return t.render && t.handed.infra != nil && t.handed.subscriptionID != "" && t.handed.tenantID != ""
}

// validateInputs checks which flags need or exclude each other.
func (t typed) validateInputs() error {
	if err := t.missing(); err != nil {
		return err
	}
	switch {
	case t.sshKey != "" && t.generateSSH:
		return errors.New("--ssh-key and --generate-ssh cannot be specified together")
	case t.signingKey != "" && t.cluster.Identity.IssuerURL == "":
		return errors.New("--sa-token-issuer-private-key-path needs --oidc-issuer-url: the issuer whose documents publish the key")
	}
	for _, image := range []struct{ flag, value string }{{"--release-image", t.cluster.ReleaseImage}, {"--control-plane-operator-image", t.controlPlaneOperatorImage}} {
		if err := machines.CheckImage(image.flag, image.value); err != nil {
			return err
		}
	}
	return flagfile.CheckWritable("--render-into", t.renderInto)
}

var (
	infraIDPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	domainPattern  = regexp.MustCompile(`^([a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+$`)
)

// validateNames checks what the management cluster would refuse only after the infrastructure has been made.
func (t typed) validateNames() error {
	c := &t.cluster
	domains := []struct{ flag, value string }{{"--base-domain", t.infra.BaseDomain}, {"--external-dns-domain", c.Publishing.ExternalDNSDomain}}
	if t.baseDomainPrefix != "" && t.baseDomainPrefix != "none" {
		domains = append(domains, struct{ flag, value string }{"--base-domain-prefix", t.baseDomainPrefix})
	}
	for _, d := range domains {
		if d.value != "" && !domainPattern.MatchString(d.value) {
			return fmt.Errorf("%s %q is not a domain name", d.flag, d.value)
		}
	}
	if err := validateExternalDomain(c.Name, c.Publishing.ExternalDNSDomain); err != nil {
		return err
	}
	if len(validation.IsDNS1123Label(c.Namespace)) > 0 {
		return fmt.Errorf("--namespace %q is not a name of a namespace", c.Namespace)
	}
	if id := t.infra.InfraID; id != "" && !infraIDPattern.MatchString(id) {
		return fmt.Errorf("--infra-id %q is not valid; use lower-case letters, digits and dashes", id)
	}
	if issuer := c.Identity.IssuerURL; issuer != "" {
		if u, err := url.Parse(issuer); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--oidc-issuer-url %q is not an https URL", issuer)
		}
	}
	return nil
}

// validateExternalDomain refuses a domain beneath which the endpoints of the cluster could not be published.
func validateExternalDomain(cluster, external string) error {
	if external == "" {
		return nil
	}
	if !strings.Contains(external, ".") {
		return fmt.Errorf("--external-dns-domain %q has no dot; give a DNS zone such as clusters.example.com", external)
	}
	if label := "konnectivity-" + cluster; len(label) > validation.DNS1123LabelMaxLength {
		return fmt.Errorf("--name %q is too long to publish %s.%s: a part of a DNS name has at most %d characters", cluster, label, external, validation.DNS1123LabelMaxLength)
	}
	return nil
}

var capabilityNames = []string{infraflags.ImageRegistryCapability, "openshift-samples", "Insights", "baremetal", "Console", "NodeTuning", "Ingress"}

func (t typed) validateFeatureSet() error {
	switch set := t.cluster.FeatureSet; set {
	case "", "TechPreviewNoUpgrade", "DevPreviewNoUpgrade":
		return nil
	case "CustomNoUpgrade":
		return errors.New("--feature-set CustomNoUpgrade is not supported: single gates cannot be given by flag; set spec.configuration.featureGate")
	default:
		return fmt.Errorf("--feature-set %q is not supported; use TechPreviewNoUpgrade or DevPreviewNoUpgrade%s", set, printing.Suggest(set, []string{"TechPreviewNoUpgrade", "DevPreviewNoUpgrade"}))
	}
}

func (t typed) validateAPIServerName() error {
	if name := t.cluster.KubeAPIServerDNSName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--kas-dns-name %q is not a DNS name", name)
	}
	return nil
}

func (t typed) validateSpec() error {
	c := &t.cluster
	if p := c.PausedUntil; p != "" && p != "true" {
		if _, err := time.Parse(time.RFC3339, p); err != nil {
			return fmt.Errorf("invalid pausedUntil value %q; use true or an RFC3339 time", p)
		}
	}
	for _, p := range []struct{ flag, value string }{
		{"--control-plane-availability-policy", t.controlPlanePolicy}, {"--infra-availability-policy", t.infraPolicy},
	} {
		if known := []string{string(hyperv1.SingleReplica), string(hyperv1.HighlyAvailable)}; p.value != "" && !slices.Contains(known, p.value) {
			return fmt.Errorf("%s %q is unknown; use SingleReplica or HighlyAvailable%s", p.flag, p.value, printing.Suggest(p.value, known))
		}
	}
	if known := []string{"management", "guest"}; !slices.Contains(known, strings.ToLower(t.catalogPlacement)) {
		return fmt.Errorf("--olm-catalog-placement %q is unknown; use management or guest%s", t.catalogPlacement, printing.Suggest(t.catalogPlacement, known))
	}
	return nil
}

func (t typed) validateCapabilities() error {
	c := &t.cluster
	for _, name := range c.DisabledCapabilities {
		if !slices.Contains(capabilityNames, name) {
			return fmt.Errorf("unknown disabled capability %q; known are %s%s", name, strings.Join(capabilityNames, ", "), printing.Suggest(name, capabilityNames))
		}
	}
	for _, name := range c.EnabledCapabilities {
		if !slices.Contains(capabilityNames, name) {
			return fmt.Errorf("unknown enabled capability %q; known are %s%s", name, strings.Join(capabilityNames, ", "), printing.Suggest(name, capabilityNames))
		}
	}
	if slices.Contains(c.DisabledCapabilities, "Ingress") && !slices.Contains(c.DisabledCapabilities, "Console") {
		return errors.New("capability Ingress can only be disabled together with Console, which needs it")
	}
	return nil
}

var networkTypes = []string{"OVNKubernetes", "OpenShiftSDN", "Calico", "Other"}

func (t typed) validateNetworking() error {
	n := &t.cluster.Networking
	isOther := t.networkType == string(hyperv1.OtherNetwork)
	switch {
	case !slices.Contains(networkTypes, t.networkType):
		return fmt.Errorf("--network-type %q is unknown; use OVNKubernetes, OpenShiftSDN, Calico or Other%s", t.networkType, printing.Suggest(t.networkType, networkTypes))
	case n.DisableMultiNetwork && !isOther:
		return errors.New("--disable-multi-network is only valid with --network-type Other")
	case n.AllocateNodeCIDRs && !isOther:
		return errors.New("--allocate-node-cidrs is only valid with --network-type Other")
	case n.OVNKubernetesMTU != 0 && t.networkType != "OVNKubernetes":
		return errors.New("--ovn-kubernetes-mtu is only valid with --network-type OVNKubernetes")
	case n.OVNKubernetesMTU != 0 && (n.OVNKubernetesMTU < 576 || n.OVNKubernetesMTU > 9216):
		return fmt.Errorf("--ovn-kubernetes-mtu %d is out of range; use 576 to 9216", n.OVNKubernetesMTU)
	}
	return nil
}

func (t typed) validateRoles() error {
	i := &t.infra
	switch {
	case i.NSGID != "" && i.ResourceGroup == "":
		return errors.New("--resource-group-name is required when --network-security-group-id is given")
	case (i.AssignRoles || i.CustomRoles) && t.infraJSON != "":
		return errors.New("--assign-service-principal-roles cannot be used with --infra-json; use `create infra azure --assign-identity-roles`")
	case i.AppsZone != "" && t.infraJSON != "":
		return errors.New("--apps-zone cannot be used with --infra-json, whose publicZoneID says it; use `create infra azure --apps-zone`")
	}
	return nil
}

// validateFlavour checks that the flags are of one of the two flavours of clusters.
func (t typed) validateFlavour() error {
	if err := t.managed.Check(t.workloadIdentities); err != nil {
		return err
	}
	switch {
	case t.managed.KMSSecret != "" && t.encryptionKeyID == "":
		return errors.New("--kms-credentials-secret-name needs --encryption-key-id: the key that the credentials are for")
	case t.managed.Given() && t.encryptionKeyID != "" && t.managed.KMSSecret == "":
		return errors.New("--encryption-key-id needs --kms-credentials-secret-name where managed identities are used")
	case t.managed.KMSSecret != "" && !t.managed.Given() && t.infraJSON == "":
		return errors.New("--kms-credentials-secret-name is for managed identities; workload identities have kmsClientID in their file")
	}
	return nil
}

func (t typed) validatePublishing() error {
	if known := []string{"Public", "PublicAndPrivate", "Private"}; !slices.Contains(known, t.endpointAccess) {
		return fmt.Errorf("--endpoint-access must be one of Public, PublicAndPrivate, Private; it is %q%s", t.endpointAccess, printing.Suggest(t.endpointAccess, known))
	}
	if t.oauth != "Route" && t.oauth != "LoadBalancer" {
		return fmt.Errorf("--oauth-publishing-strategy must be either Route or LoadBalancer; it is %q%s", t.oauth, printing.Suggest(t.oauth, []string{"Route", "LoadBalancer"}))
	}
	if t.oauth == "LoadBalancer" && t.managed.Given() {
		return errors.New("--oauth-publishing-strategy LoadBalancer is not supported for ARO HCP, whose clusters use managed identities; use Route")
	}
	p := &t.cluster.Publishing
	if id := p.NATSubnetID; id != "" {
		if _, err := azure.ParseID(id); err != nil {
			return fmt.Errorf("--endpoint-access-private-nat-subnet-id is not a valid Azure resource ID: %w", err)
		}
		lower := strings.ToLower(id)
		if !strings.Contains(lower, "/virtualnetworks/") || !strings.Contains(lower, "/subnets/") {
			return errors.New("--endpoint-access-private-nat-subnet-id must be a subnet resource ID (.../virtualNetworks/V/subnets/N)")
		}
	}
	if t.endpointAccess != "Public" && p.NATSubnetID == "" && len(p.AdditionalAllowedSubscriptions) == 0 {
		return fmt.Errorf("--endpoint-access %s needs --endpoint-access-private-nat-subnet-id or --endpoint-access-private-additional-allowed-subscriptions", t.endpointAccess)
	}
	return nil
}

// validateDomain refuses an external domain at or above the cluster's own: the cluster's private zone would hide the public
// records beneath it.
func (t typed) validateDomain() error {
	if t.cluster.Publishing.ExternalDNSDomain == "" || t.infra.BaseDomain == "" {
		return nil
	}
	normal := func(s string) string { return strings.TrimSuffix(strings.ToLower(s), ".") }
	external, own := normal(t.cluster.Publishing.ExternalDNSDomain), normal(t.clusterDomain())
	if own == external || strings.HasSuffix(own, "."+external) {
		return fmt.Errorf("--external-dns-domain %s conflicts with cluster domain %s: the cluster's private zone would hide its records; use a domain that is not above it", external, own)
	}
	return nil
}

func (t typed) clusterDomain() string {
	switch t.baseDomainPrefix {
	case "":
		return t.cluster.Name + "." + t.infra.BaseDomain
	case "none":
		return t.infra.BaseDomain
	}
	return t.baseDomainPrefix + "." + t.infra.BaseDomain
}

func (t typed) validateZones() error {
	for i, zone := range t.cluster.Zones {
		if !slices.Contains([]string{"1", "2", "3"}, zone) {
			return fmt.Errorf("invalid value for --availability-zones: %q; use 1, 2 or 3", zone)
		}
		if slices.Contains(t.cluster.Zones[:i], zone) {
			return fmt.Errorf("--availability-zones names zone %s twice; each zone has one node pool", zone)
		}
	}
	return nil
}
