// Package install turns options into what `hypershift install` applies: the definitions of the kinds and the objects of the
// operator. It is pure; the command line reads files and writes to the cluster.
package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

// FieldManager owns what install applies.
const FieldManager = "hypershift"

// Options describe one installation.
type Options struct {
	Namespace       string
	Image           string
	ImagePullPolicy string
	// PullSecret is a dockerconfigjson; empty makes no Secret.
	PullSecret  []byte
	TrustBundle []byte
	// Proxy is the management cluster's way out; the zero value stamps nothing.
	Proxy proxyenv.Proxy

	Development bool
	// Platforms limits the definitions of Cluster API providers; empty means all there are.
	Platforms          []string
	ExtraEnv           map[string]string
	PrivatePlatform    string
	PlatformMonitoring string
	MetricsSet         string
	CIDebugOutput      bool
	CertRotationScale  time.Duration
	TechPreview        bool

	ExternalDNS ExternalDNS
}

// ExternalDNS describes the controller that publishes the hosted clusters' host names; an empty provider means none.
type ExternalDNS struct {
	Provider     string
	Credentials  []byte
	SecretName   string
	DomainFilter string
	TXTOwnerID   string
	Image        string
	Interval     string
}

var (
	platforms    = []string{"AWS", "Azure", "IBMCloud", "KubeVirt", "Agent", "OpenStack", "GCP"}
	pullPolicies = []string{"Always", "Never", "IfNotPresent"}
	metricsSets  = []string{"Telemetry", "SRE", "All"}
	monitorings  = []string{"", "None", "OperatorOnly", "All"}
)

// Normalize brings values that may be typed in any case to their canonical form and checks all of them; the error names
// everything that is wrong.
func (o *Options) Normalize() error {
	var errs []error
	canonical := func(flag string, value *string, allowed []string) {
		i := slices.IndexFunc(allowed, func(a string) bool { return strings.EqualFold(a, *value) })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s %q is unknown; use one of %s", flag, *value, strings.Join(allowed, ", ")))
			return
		}
		*value = allowed[i]
	}
	canonical("--image-pull-policy", &o.ImagePullPolicy, pullPolicies)
	canonical("--metrics-set", &o.MetricsSet, metricsSets)
	for i := range o.Platforms {
		canonical("--limit-crd-install", &o.Platforms[i], platforms)
	}
	if !slices.Contains(monitorings, o.PlatformMonitoring) {
		errs = append(errs, fmt.Errorf("--platform-monitoring %q is unknown; use None, OperatorOnly or All", o.PlatformMonitoring))
	}
	if o.PrivatePlatform != "None" {
		errs = append(errs, fmt.Errorf("--private-platform %q is not supported by this version; leave it out and use public endpoints", o.PrivatePlatform))
	}
	if o.CertRotationScale > 24*time.Hour {
		errs = append(errs, errors.New("--cert-rotation-scale must not exceed 24h: certificates live for multiples of it"))
	}
	return errors.Join(append(errs, o.ExternalDNS.validate()...)...)
}

func (e ExternalDNS) validate() []error {
	var errs []error
	if e.Provider == "" {
		return nil
	}
	if !slices.Contains([]string{"aws", "azure", "google"}, e.Provider) {
		errs = append(errs, fmt.Errorf("--external-dns-provider %q is unknown; use aws, azure or google", e.Provider))
	}
	if len(e.Credentials) > 0 && e.SecretName != "" {
		errs = append(errs, errors.New("only one of --external-dns-credentials and --external-dns-secret may be given"))
	}
	if len(e.Credentials) == 0 && e.SecretName == "" {
		errs = append(errs, errors.New("--external-dns-credentials or --external-dns-secret are required with --external-dns-provider"))
	}
	if e.Provider == "azure" && len(e.Credentials) > 0 {
		errs = append(errs, checkAzureDNSCredentials(e.Credentials)...)
	}
	if e.DomainFilter == "" {
		errs = append(errs, errors.New("--external-dns-domain-filter is required with --external-dns-provider: the zone that the hosted clusters' host names are written to"))
	}
	if e.Interval != "" {
		if _, err := time.ParseDuration(e.Interval); err != nil {
			errs = append(errs, fmt.Errorf("--external-dns-interval: %w", err))
		}
	}
	return errs
}

// checkAzureDNSCredentials finds the mix-up with the credentials file of the other commands, whose keys differ: ExternalDNS would
// run and write no record.
func checkAzureDNSCredentials(raw []byte) []error {
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return []error{errors.New("the file of --external-dns-credentials is no JSON object")}
	}
	var missing []string
	for _, key := range []string{"tenantId", "subscriptionId", "resourceGroup", "aadClientId", "aadClientSecret"} {
		if text, ok := values[key].(string); !ok || text == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []error{fmt.Errorf("the file of --external-dns-credentials lacks %s; it differs from the file of --azure-creds", strings.Join(missing, ", "))}
}

// monitored tells whether the platform's monitoring looks at the operator's namespace.
func (o *Options) monitored() bool { return o.PlatformMonitoring != "None" }
