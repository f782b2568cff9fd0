package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// What scripts give to installers of this field, and what comes of it here: a flag that is served changes what is applied, one that
// is refused says why, and one that is accepted says what this version does anyway.
var installerFlags = []struct{ flag, value, with, fate string }{
	{"namespace", "other", "", isServed},
	{"hypershift-image", "mine:1", "", isServed},
	{"image-registry", "registry.example.com/own", "", isServed},
	{"handoff", "@handoff", "", isServed},
	{"image-refs", "@images", "", isServed},
	{"image-pull-policy", "always", "", isServed},
	{"pull-secret", "@pull", "", isServed},
	{"additional-trust-bundle", "@bundle", "", isServed},
	{"registry-overrides", "quay.io=mirror", "", isServed},
	{"development", "true", "", isServed},
	{"limit-crd-install", "azure", "", isServed},
	{"tech-preview-no-upgrade", "true", "", isServed},
	{"exclude-etcd", "true", "--tech-preview-no-upgrade", isServed},
	{"additional-operator-env-vars", "AZURE_CLOUD_NAME=AzureUSGovernmentCloud", "", isServed},
	{"enable-admin-rbac-generation", "true", "", isServed},
	{"hcp-egress-block-cidrs", "10.0.0.0/8", "", isServed},
	{"max-concurrent-upgrades", "3", "", isServed},
	{"max-concurrent-upgrades", "-1", "", isRefused},
	{"allow-private-registries", "true", "", isServed},
	{"release-registries", "quay.io/releases", "", isServed},
	{"release-signature-keys", "@keys", "", isServed},

	{"enable-conversion-webhook", "false", "", isServed},
	{"disable-capi-conversion-webhook", "true", "", isServed},
	{"disable-capi-migration", "true", "", isServed},
	{"enable-defaulting-webhook", "true", "", isRefused},
	{"enable-validating-webhook", "true", "", isRefused},

	{"external-dns-provider", "azure", "--external-dns-secret=s --external-dns-domain-filter=d.example", isServed},
	{"external-dns-credentials", "@dns", withDNS, isServed},
	{"external-dns-secret", "s", withDNS, isServed},
	{"external-dns-domain-filter", "other.example", withDNS + " --external-dns-secret=s", isServed},
	{"external-dns-txt-owner-id", "me", withDNS + " --external-dns-secret=s", isServed},
	{"external-dns-image", "dns:1", withDNS + " --external-dns-secret=s", isServed},
	{"external-dns-interval", "7m", withDNS + " --external-dns-secret=s", isServed},
	{"external-dns-aws-zones-cache-duration", "3h", "--external-dns-provider=aws --external-dns-domain-filter=d.example --external-dns-secret=s", isServed},
	{"external-dns-google-project", "p", "--external-dns-provider=google --external-dns-domain-filter=d.example --external-dns-secret=s", isServed},
	{"external-dns-role-arn", "arn:x", "", isRefused},

	{"private-platform", "Azure", "", isRefused},
	{"azure-private-creds", "x", "", isRefused},
	{"azure-private-secret", "x", "", isRefused},
	{"azure-private-secret-key", "x", "", isRefused},
	{"azure-pls-managed-identity-client-id", "x", "", isRefused},
	{"azure-pls-subscription-id", "x", "", isRefused},
	{"azure-pls-resource-group", "x", "", isRefused},

	{"managed-service", "ARO-HCP", "", isRefused},
	{"aro-hcp-key-vault-users-client-id", "x", "", isRefused},
	{"platform-monitoring", "None", "", isServed},
	{"metrics-set", "sre", "", isServed},
	{"enable-ci-debug-output", "true", "", isServed},
	{"enable-uwm-telemetry-remote-write", "true", "", isRefused},
	{"enable-cvo-management-cluster-metrics-access", "true", "", isRefused},
	{"rhobs-monitoring", "true", "", isRefused},
	{"cvo-prometheus-url", "x", "", isRefused},
	{"slos-alerts", "true", "", isServed},
	{"monitoring-dashboards", "true", "", isServed},
	{"dashboard", "true", "", isServed},
	{"cert-rotation-scale", "1h", "", isServed},
	{"enable-dedicated-request-serving-isolation", "true", "", isRefused},
	{"enable-size-tagging", "true", "", isRefused},
	{"enable-etcd-recovery", "false", "", isRefused},
	{"enable-cpo-overrides", "true", "", isRefused},
	{"enable-standalone-karpenter-operator", "true", "", isRefused},
	{"enable-audit-log-persistence", "true", "", isRefused},
	{"scale-from-zero-provider", "azure", "", isRefused},
	{"scale-from-zero-creds", "x", "", isRefused},
	{"scale-from-zero-secret", "x", "", isRefused},
	{"scale-from-zero-secret-key", "x", "", isRefused},

	{"oidc-storage-provider-s3-bucket-name", "x", "", isRefused},
	{"oidc-storage-provider-s3-region", "x", "", isRefused},
	{"oidc-storage-provider-s3-credentials", "x", "", isRefused},
	{"oidc-storage-provider-s3-secret", "x", "", isRefused},
	{"oidc-storage-provider-s3-secret-key", "x", "", isRefused},
	{"aws-private-creds", "x", "", isRefused},
	{"aws-private-region", "x", "", isRefused},
	{"aws-private-secret", "x", "", isRefused},
	{"aws-private-secret-key", "x", "", isRefused},
	{"aws-role-credential-source", "x", "", isRefused},
	{"aws-operator-roles-file", "x", "", isRefused},

	// This program's own.
	{"ingress-domain", "apps.example.com", "", isServed},
	{"external-dns-azure-client-id", "id", withDNS + " --external-dns-secret=s --external-dns-azure-tenant-id=t", isServed},
	{"external-dns-azure-tenant-id", "t2", withDNS + " --external-dns-secret=s --external-dns-azure-client-id=id", isServed},
}

const (
	isServed, isRefused, isAccepted = "served", "refused", "accepted"

	withDNS = "--external-dns-provider=azure --external-dns-domain-filter=d.example"
)

// publicKey is one that signs releases.
const publicKey = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpt4oWXgjDULOU83IOmqyjNGIZFOt
LWsrMWK9dJ3NTQWMCT5Ka0i48jH8wVtc2Tk9uTaqYnrEHrpP4J2kE3P6Nw==
-----END PUBLIC KEY-----
`

func TestInstallFlags(t *testing.T) {
	files := map[string]string{
		"@pull": `{"auths":{}}`, "@images": "kind: ImageStream\nspec: {tags: [{name: apiserver-network-proxy, from: {name: 'proxy:1'}}]}",
		"@bundle":  clitest.Certificate(t),
		"@keys":    publicKey,
		"@handoff": "apiVersion: handoff.hypershift.openshift.io/v1\nkind: Handoff\nimages: {registry: registry.example.com/own}",
		"@dns":     `{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","aadClientId":"c","aadClientSecret":"x"}`,
	}
	dir := t.TempDir()
	for name, text := range files {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]bool{}
	for _, tc := range installerFlags {
		known[tc.flag] = true
		with := strings.Fields(tc.with)
		value := tc.value
		if files[value] != "" {
			value = files[value]
		}
		after, err := installedWith(append(with, "--"+tc.flag+"="+value))
		if tc.fate == isRefused {
			if err == nil || !strings.Contains(err.Error(), "--"+tc.flag) || strings.Contains(err.Error(), "unknown flag") {
				t.Errorf("--%s %s: %v, want a refusal that says why", tc.flag, value, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("--%s %s: %v", tc.flag, value, err)
			continue
		}
		// What goes along may be no installation without the flag.
		before, err := installedWith(with)
		if changed := err != nil || appliedObjects(t, before) != appliedObjects(t, after) || appliedDefinitions(t, before) != appliedDefinitions(t, after); changed != (tc.fate == isServed) {
			t.Errorf("--%s %s is %s, and changes what is applied: %v", tc.flag, value, tc.fate, changed)
		}
	}
	flags := pflag.NewFlagSet("install", pflag.ContinueOnError)
	(&installFlags{}).add(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !known[f.Name] {
			t.Errorf("the table lacks --%s", f.Name)
		}
	})
}

func installedWith(arguments []string) (*install.Options, error) {
	flags := pflag.NewFlagSet("install", pflag.ContinueOnError)
	f := &installFlags{}
	f.add(flags)
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if f.ExternalDNS.TXTOwnerID == "" {
		f.ExternalDNS.TXTOwnerID = "fixed"
	}
	return &f.Options, f.completeAlone()
}

func appliedObjects(t *testing.T, o *install.Options) string {
	t.Helper()
	objs, err := toApply(o.Objects())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, obj := range objs {
		fmt.Fprintln(&out, obj.Object)
	}
	return out.String()
}

// appliedDefinitions are their versions and who converts them; the schemas are the same.
func appliedDefinitions(t *testing.T, o *install.Options) string {
	t.Helper()
	crds, err := o.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, crd := range crds {
		fmt.Fprintln(&out, crd.Name, crd.Spec.Conversion.Strategy)
		for _, v := range crd.Spec.Versions {
			fmt.Fprintln(&out, v.Name, v.Served, v.Storage)
		}
	}
	return out.String()
}
