package install

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// installFlags are the flags shared by install, install render and uninstall.
type installFlags struct {
	install.Options
	pullSecret, trustBundle, externalDNSCredentials, imageRefs, releaseKeys string

	// registry is where the images of this version are; record is the hand-off file that names it.
	registry string
	record   azureflags.HandoffFile

	conversion bool
	unserved   []unservedFlag
	set        *pflag.FlagSet
}

func (f *installFlags) add(flags *pflag.FlagSet) {
	f.set = flags
	o := &f.Options
	flags.StringVarP(&o.Namespace, "namespace", "n", "hypershift", "namespace of the operator")
	flags.StringVar(&o.Image, "hypershift-image", version.OperatorImage(), "image of the operator")
	flags.StringVar(&f.registry, "image-registry", "", "REGISTRY[/PATH] that has the images of the operator, hypershift-operator:VERSION, and of ExternalDNS")
	flags.StringVar(&f.record.Path, "handoff", "", "hand-off file: names the registry when --image-registry does not, and else takes it for later commands")
	flags.StringVar(&f.imageRefs, "image-refs", "", "ImageStream file whose tags replace images: hypershift-operator, cluster-api, cluster-api-provider-azure, apiserver-network-proxy")
	flags.StringVar(&o.ImagePullPolicy, "image-pull-policy", "IfNotPresent", "Always, Never or IfNotPresent")
	flags.StringVar(&f.pullSecret, "pull-secret", "", "dockerconfigjson file for the operator's images")
	flags.StringVar(&f.trustBundle, "additional-trust-bundle", "", "PEM file with additional certificate authorities")
	flags.StringVar(&o.RegistryOverrides, "registry-overrides", "", "mirrors of registries, as source=mirror,source=mirror")
	flags.BoolVar(&o.Development, "development", false, "install everything but run no operator pod")
	flags.StringSliceVar(&o.Platforms, "limit-crd-install", nil, "platforms whose Cluster API provider definitions are installed; all when empty")
	flags.BoolVar(&o.ExcludeEtcd, "exclude-etcd", false, "leave out the definitions of an etcd operator")
	flags.BoolVar(&o.TechPreview, "tech-preview-no-upgrade", false, "enable tech preview features")
	flags.BoolVar(&o.AdminRBAC, "enable-admin-rbac-generation", false, "add roles for the groups hypershift-client and hypershift-readers")
	flags.StringToStringVar(&o.ExtraEnv, "additional-operator-env-vars", nil, "extra environment of the operator")
	flags.StringSliceVar(&o.EgressBlockCIDRs, "hcp-egress-block-cidrs", nil, "networks that control planes must not reach")
	flags.IntVar(&o.MaxConcurrentUpgrades, "max-concurrent-upgrades", 0, "control planes that are upgraded at a time, others wait and say so; 0 upgrades all that are asked for at once")
	flags.BoolVar(&o.AllowPrivateRegistries, "allow-private-registries", false, "let HostedClusters name images in registries of private networks (10.0.0.0/8 and the like); others are refused without it")
	flags.StringSliceVar(&o.ReleaseRegistries, "release-registries", nil, "registries, or repositories like quay.io/openshift-release-dev, that the releases of HostedClusters and NodePools must lie in; any may when it is empty")
	flags.StringVar(&f.releaseKeys, "release-signature-keys", "", "PEM file with public keys, of which one must have signed the releases of HostedClusters and NodePools; unsigned ones are taken when it is empty")
	flags.StringVar(&o.IngressDomain, "ingress-domain", "", "domain of Routes on a management cluster without a router, which then gets ours")
	flags.StringVar(&o.PrivatePlatform, "private-platform", "None", "platform of private endpoints")
	flags.StringVar(&o.PlatformMonitoring, "platform-monitoring", "", "None, OperatorOnly or All")
	flags.StringVar(&o.MetricsSet, "metrics-set", "Telemetry", "Telemetry, SRE or All")
	flags.BoolVar(&o.SLOAlerts, "slos-alerts", false, "add the alerts of the service-level objectives")
	flags.BoolVar(&o.MonitoringDashboards, "monitoring-dashboards", false, "keep a dashboard for each hosted cluster")
	flags.BoolVar(&o.Dashboard, "dashboard", false, "add the dashboard for people who sign in; it serves with Secret "+install.DashboardCertificate+", which OpenShift makes")
	flags.BoolVar(&o.CIDebugOutput, "enable-ci-debug-output", false, "more verbose control planes")
	flags.DurationVar(&o.CertRotationScale, "cert-rotation-scale", 24*time.Hour, "compresses certificate lifetimes in tests")

	flags.BoolVar(&f.conversion, "enable-conversion-webhook", true, "convert between the versions of our own kinds by the operator")
	flags.BoolVar(&o.NoCAPIConversion, "disable-capi-conversion-webhook", false, "serve one version of Cluster API's kinds, without the operator's webhook")
	flags.BoolVar(&o.NoCAPIMigration, "disable-capi-migration", false, "keep Cluster API's objects stored as v1beta1")
	f.addExternalDNS(flags)
	f.addUnserved(flags)
}

func (f *installFlags) addExternalDNS(flags *pflag.FlagSet) {
	e := &f.ExternalDNS
	flags.StringVar(&e.Provider, "external-dns-provider", "", "azure, aws or google; publishes the hosted clusters' host names")
	flags.StringVar(&f.externalDNSCredentials, "external-dns-credentials", "", "credentials file of ExternalDNS")
	flags.StringVar(&e.SecretName, "external-dns-secret", "", "existing Secret with the credentials under key \"credentials\"")
	flags.StringVar(&e.DomainFilter, "external-dns-domain-filter", "", "DNS zone that ExternalDNS writes to")
	flags.StringVar(&e.ClientID, "external-dns-azure-client-id", "", "managed identity that ExternalDNS signs in as, by workload identity")
	flags.StringVar(&e.TenantID, "external-dns-azure-tenant-id", "", "its tenant; the credentials file's when empty")
	flags.StringVar(&e.TXTOwnerID, "external-dns-txt-owner-id", "", "owner mark of the records; derived from the cluster when empty")
	flags.StringVar(&e.Image, "external-dns-image", version.ExternalDNSImage, "image of ExternalDNS")
	flags.StringVar(&e.Interval, "external-dns-interval", "", "interval between updates; 1m when empty")
	flags.StringVar(&e.AWSZonesCache, "external-dns-aws-zones-cache-duration", "", "how long the provider aws remembers zones; 1h when empty")
	flags.StringVar(&e.GoogleProject, "external-dns-google-project", "", "project of the provider google")
}

// unservedFlag is one that other installers of this field have and this version does nothing for.
type unservedFlag struct{ name, why string }

// addUnserved registers them, so that a script that gives one is told why instead of that the flag is unknown. Those whose default
// is what this version does anyway may be repeated. Help does not list them: nobody is to learn of them there.
func (f *installFlags) addUnserved(flags *pflag.FlagSet) {
	const (
		private   = "private endpoints are not served by this version"
		managed   = "the managed service is not served by this version"
		admission = "the definitions' own rules default and validate"
		scale     = "scaling from zero needs no credentials of its own: what machines have is read with the identity nodePoolManagement of each hosted cluster"
		metrics   = "this version forwards no metrics to other systems"
		none      = "this version has no such feature"
		platform  = "this version serves Azure"
	)
	f.unserved = []unservedFlag{
		{"azure-private-creds", private}, {"azure-private-secret", private}, {"azure-private-secret-key", private},
		{"azure-pls-managed-identity-client-id", private}, {"azure-pls-subscription-id", private}, {"azure-pls-resource-group", private},
		{"managed-service", managed}, {"aro-hcp-key-vault-users-client-id", managed},
		{"external-dns-role-arn", "sign in with --external-dns-credentials"},
		{"scale-from-zero-provider", scale}, {"scale-from-zero-creds", scale}, {"scale-from-zero-secret", scale}, {"scale-from-zero-secret-key", scale},
		{"cvo-prometheus-url", metrics},
		{"oidc-storage-provider-s3-bucket-name", platform}, {"oidc-storage-provider-s3-region", platform}, {"oidc-storage-provider-s3-credentials", platform},
		{"oidc-storage-provider-s3-secret", platform}, {"oidc-storage-provider-s3-secret-key", platform},
		{"aws-private-creds", platform}, {"aws-private-region", platform}, {"aws-private-secret", platform}, {"aws-private-secret-key", platform},
		{"aws-role-credential-source", platform}, {"aws-operator-roles-file", platform},
	}
	for _, flag := range f.unserved {
		flags.String(flag.name, "", "refused: "+flag.why)
		_ = flags.MarkHidden(flag.name)
	}
	switches := []unservedFlag{
		{"enable-defaulting-webhook", admission}, {"enable-validating-webhook", admission},
		{"enable-uwm-telemetry-remote-write", metrics}, {"enable-cvo-management-cluster-metrics-access", metrics},
		{"rhobs-monitoring", metrics},
		{"enable-size-tagging", none}, {"enable-cpo-overrides", none}, {"enable-standalone-karpenter-operator", none}, {"enable-audit-log-persistence", none},
		{"enable-dedicated-request-serving-isolation", "request-serving components are not put on nodes of their own"},
	}
	for _, flag := range switches {
		flags.Bool(flag.name, false, "refused: "+flag.why)
		_ = flags.MarkHidden(flag.name)
	}
	f.unserved = append(f.unserved, switches...)
	const recovery = "members of etcd that lose their disk always join again, which cannot be switched off"
	flags.Bool("enable-etcd-recovery", true, "false is refused: "+recovery)
	f.unserved = append(f.unserved, unservedFlag{"enable-etcd-recovery", recovery})
}

// refused names the flags that were given and are not served.
func (f *installFlags) refused() []error {
	var errs []error
	for _, flag := range f.unserved {
		given := f.set.Lookup(flag.name)
		if given.Changed && given.Value.String() != given.DefValue {
			errs = append(errs, fmt.Errorf("--%s: %s; leave it out", flag.name, flag.why))
		}
	}
	return errs
}

// complete reads the files and checks everything; the error names all that is wrong.
func (f *installFlags) complete() error {
	errs := f.refused()
	for _, file := range []struct {
		flag, path string
		into       *[]byte
	}{
		{"--pull-secret", f.pullSecret, &f.PullSecret},
		{"--additional-trust-bundle", f.trustBundle, &f.TrustBundle},
		{"--release-signature-keys", f.releaseKeys, &f.ReleaseSignatureKeys},
		{"--external-dns-credentials", f.externalDNSCredentials, &f.ExternalDNS.Credentials},
	} {
		if file.path == "" {
			continue
		}
		raw, err := flagfile.Read(file.flag, file.path)
		if err != nil {
			errs = append(errs, err)
		}
		*file.into = raw
	}
	errs = append(errs, f.chooseImages(), f.readImageRefs())
	f.NoConversion = !f.conversion
	f.ExtraEnv = trimmed(f.ExtraEnv)
	return errors.Join(append(errs, f.Normalize())...)
}

func trimmed(pairs map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range pairs {
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out
}

// readImageRefs takes the tags of an ImageStream.
func (f *installFlags) readImageRefs() error {
	if f.imageRefs == "" {
		return nil
	}
	if f.set.Changed("hypershift-image") {
		return errors.New("only one of --hypershift-image and --image-refs may be given")
	}
	raw, err := flagfile.Read("--image-refs", f.imageRefs)
	if err != nil {
		return err
	}
	var stream struct {
		Kind string `json:"kind"`
		Spec struct {
			Tags []struct {
				Name string `json:"name"`
				From struct {
					Name string `json:"name"`
				} `json:"from"`
			} `json:"tags"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(raw, &stream); err != nil || stream.Kind != "ImageStream" {
		return fmt.Errorf("the file of --image-refs, %s, is no ImageStream", f.imageRefs)
	}
	f.ImageRefs = map[string]string{}
	for _, tag := range stream.Spec.Tags {
		f.ImageRefs[tag.Name] = tag.From.Name
	}
	return nil
}
