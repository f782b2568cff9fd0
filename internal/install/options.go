// Package install turns options into what `hypershift install` applies: the definitions of the kinds and the objects of the
// operator. It is pure; the command line reads files and writes to the cluster.
package install

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/release/signature"
)

// FieldManager owns what install applies.
const FieldManager = "hypershift"

// Options describe one installation.
type Options struct {
	Namespace       string
	Image           string
	ImagePullPolicy string
	// ImageRefs are the images of an ImageStream by tag; known ones replace images of the payload.
	ImageRefs map[string]string
	// Pinned has images by digest, by the name that they were given; the others are written as they were given.
	Pinned map[string]string
	// RegistryOverrides is source=mirror,source=mirror.
	RegistryOverrides string
	// PullSecret is a dockerconfigjson; empty makes no Secret.
	PullSecret  []byte
	TrustBundle []byte
	// Proxy is the management cluster's way out; the zero value stamps nothing.
	Proxy proxyenv.Proxy
	// NoMonitoring leaves out what needs the monitoring API.
	NoMonitoring bool
	// IngressDomain is where the management cluster serves Routes; empty leaves it to the cluster's own configuration.
	IngressDomain string
	// Router adds the Route API and our router for it: the management cluster has none.
	Router bool

	Development bool
	// Platforms limits the definitions of Cluster API providers; empty means all there are.
	Platforms   []string
	ExcludeEtcd bool
	// NoConversion and NoCAPIConversion install the definitions without the operator's webhook.
	NoConversion, NoCAPIConversion bool
	// NoCAPIMigration keeps Cluster API's objects stored as v1beta1.
	NoCAPIMigration bool
	// SkipCRDs are definitions to leave alone, by name.
	SkipCRDs []string

	AdminRBAC        bool
	ExtraEnv         map[string]string
	EgressBlockCIDRs []string
	// MaxConcurrentUpgrades is how many control planes are upgraded at a time; 0 is no bound.
	MaxConcurrentUpgrades int
	// AllowPrivateRegistries lets the images that HostedClusters name be read from private networks.
	AllowPrivateRegistries bool
	// NoAdmission: the management cluster cannot enforce ValidatingAdmissionPolicies.
	NoAdmission bool
	// ReleaseRegistries are the registries, or repositories of them, that releases may lie in; all may when it is empty.
	ReleaseRegistries []string
	// ReleaseSignatureKeys are public keys in PEM, of which one must have signed a release that HostedClusters and NodePools name; empty
	// takes unsigned releases.
	ReleaseSignatureKeys []byte

	PrivatePlatform    string
	PlatformMonitoring string
	MetricsSet         string
	CIDebugOutput      bool
	CertRotationScale  time.Duration
	TechPreview        bool
	// SLOAlerts adds the alerts of the service-level objectives.
	SLOAlerts bool
	// Dashboard adds the pages for people who sign in.
	Dashboard bool
	// MonitoringDashboards has the operator make a dashboard for each hosted cluster.
	MonitoringDashboards bool

	// KeyVaultClientID is for the templates, whose parameters include it.
	KeyVaultClientID string

	ExternalDNS ExternalDNS
}

var (
	platforms        = []string{"AWS", "Azure", "IBMCloud", "KubeVirt", "Agent", "OpenStack", "GCP"}
	privatePlatforms = []string{"AWS", "Azure", "GCP", "None"}
	pullPolicies     = []string{"Always", "Never", "IfNotPresent"}
	metricsSets      = []string{"Telemetry", "SRE", "All"}
	monitorings      = []string{"", "None", "OperatorOnly", "All"}
)

// Normalize brings values that may be typed in any case to their canonical form and checks all of them; the error names
// everything that is wrong.
func (o *Options) Normalize() error {
	var errs []error
	canonical := func(f field.Field, value *string, allowed []string) {
		i := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, *value) })
		if i < 0 {
			errs = append(errs, f.Wrong("%q is unknown; use one of %s%s", *value, strings.Join(allowed, ", "), field.Suggest(*value, allowed)))
			return
		}
		*value = allowed[i]
	}
	canonical(FieldImagePullPolicy, &o.ImagePullPolicy, pullPolicies)
	canonical(FieldMetricsSet, &o.MetricsSet, metricsSets)
	for i := range o.Platforms {
		canonical(FieldPlatforms, &o.Platforms[i], platforms)
	}
	errs = append(errs, names(FieldNamespace, o.Namespace, validation.IsDNS1123Label)...)
	if o.IngressDomain != "" {
		errs = append(errs, names(FieldIngressDomain, o.IngressDomain, validation.IsDNS1123Subdomain)...)
	}
	if !slices.Contains(monitorings, o.PlatformMonitoring) {
		errs = append(errs, FieldPlatformMonitoring.Wrong("%q is unknown; use None, OperatorOnly or All%s", o.PlatformMonitoring, field.Suggest(o.PlatformMonitoring, monitorings)))
	}
	switch {
	case !slices.Contains(privatePlatforms, o.PrivatePlatform):
		errs = append(errs, FieldPrivatePlatform.Wrong("%q is unknown; use one of %s%s", o.PrivatePlatform, strings.Join(privatePlatforms, ", "), field.Suggest(o.PrivatePlatform, privatePlatforms)))
	case o.PrivatePlatform != "None":
		errs = append(errs, FieldPrivatePlatform.Wrong("%q is not served by this version; leave it out and use public endpoints", o.PrivatePlatform))
	}
	if o.CertRotationScale > 24*time.Hour || o.CertRotationScale <= 0 {
		errs = append(errs, FieldCertRotationScale.Wrong("must be above 0 and not exceed 24h: certificates live for multiples of it"))
	}
	if o.NoCAPIMigration && o.NoCAPIConversion {
		errs = append(errs, FieldNoCAPIMigration.Wrong("and %s exclude each other: "+
			"objects stored as v1beta1 must be converted for this operator, which uses v1beta2", FieldNoCAPIConversion))
	}
	errs = append(errs, o.validateFiles()...)
	errs = append(errs, o.validateLists()...)
	return errors.Join(append(errs, o.ExternalDNS.validate()...)...)
}

func names(f field.Field, value string, check func(string) []string) []error {
	if problems := check(value); len(problems) > 0 {
		return []error{f.Wrong("%q: %s", value, strings.Join(problems, "; "))}
	}
	return nil
}

// validateFiles finds a wrong file before an image pull or a handshake does.
func (o *Options) validateFiles() []error {
	var errs []error
	if len(o.PullSecret) > 0 {
		var config struct {
			Auths map[string]any `json:"auths"`
		}
		if err := json.Unmarshal(o.PullSecret, &config); err != nil || config.Auths == nil {
			errs = append(errs, field.Errorf(FieldPullSecret, `the file of %s is not a dockerconfigjson: a JSON object with "auths"`, FieldPullSecret))
		}
	}
	if len(o.TrustBundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(o.TrustBundle) {
		errs = append(errs, field.Errorf(FieldTrustBundle, "the file of %s holds no certificate in PEM form", FieldTrustBundle))
	}
	if len(o.ReleaseSignatureKeys) > 0 {
		if _, err := signature.ParseKeys(o.ReleaseSignatureKeys); err != nil {
			errs = append(errs, field.Errorf(FieldReleaseSignatureKeys, "the file of %s cannot be used: %w", FieldReleaseSignatureKeys, err))
		}
	}
	return errs
}

func (o *Options) validateLists() []error {
	var errs []error
	for _, registry := range o.ReleaseRegistries {
		if _, err := name.NewRepository(strings.TrimSuffix(registry, "/") + "/x"); err != nil || strings.ContainsAny(registry, "'\\@ ") {
			errs = append(errs, FieldReleaseRegistries.Wrong("%q is no registry or repository like registry.example.com/releases", registry))
		}
	}
	for _, cidr := range o.EgressBlockCIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err != nil || !prefix.Addr().Is4() || prefix.Bits() == 0 {
			errs = append(errs, FieldEgressBlockCIDRs.Wrong("%q is not a CIDR of IPv4 like 10.0.0.0/8; all of it cannot be blocked", cidr))
		}
	}
	if o.MaxConcurrentUpgrades < 0 {
		errs = append(errs, FieldMaxConcurrentUpgrades.Wrong("%d is no number of upgrades; 0 is no bound", o.MaxConcurrentUpgrades))
	}
	for _, entry := range strings.FieldsFunc(o.RegistryOverrides, func(r rune) bool { return r == ',' }) {
		if source, mirror, ok := strings.Cut(entry, "="); !ok || source == "" || mirror == "" {
			errs = append(errs, FieldRegistryOverrides.Wrong("%q is not of the form source=mirror", entry))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.ExtraEnv)) {
		if problems := validation.IsEnvVarName(name); len(problems) > 0 {
			errs = append(errs, FieldExtraEnv.Wrong("%q: %s", name, strings.Join(problems, "; ")))
		}
	}
	return errs
}

// monitored tells whether the platform's monitoring looks at the operator's namespace.
func (o *Options) monitored() bool { return o.PlatformMonitoring != "None" }

// webhooks tells whether the API server calls the operator.
func (o *Options) webhooks() bool { return !o.NoConversion || !o.NoCAPIConversion }

// replicas: where the API server calls the operator, its absence would be felt by every client of the converted kinds.
func (o *Options) replicas() int32 {
	switch {
	case o.Development:
		return 0
	case o.webhooks():
		return 2
	}
	return 1
}
