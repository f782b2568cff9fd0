package install

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

func minimal() *Options {
	return &Options{
		Namespace: "hypershift", Image: "operator:1", ImagePullPolicy: "ifnotpresent", MetricsSet: "telemetry",
		PrivatePlatform: "None", CertRotationScale: 24 * time.Hour,
	}
}

const workloadIdentity = `{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","useWorkloadIdentityExtension":true}`

func TestNormalize(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		cue    string // "" when valid
	}{
		{"bare", func(*Options) {}, ""},
		{"platform in any case", func(o *Options) { o.Platforms = []string{"azure"} }, ""},
		{"unknown platform", func(o *Options) { o.Platforms = []string{"moon"} }, "install.Platforms"},
		{"unknown pull policy", func(o *Options) { o.ImagePullPolicy = "sometimes" }, "install.ImagePullPolicy"},
		{"dns without credentials", func(o *Options) { o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d"} }, "are required with install.DNSProvider"},
		{"dns without filter", func(o *Options) { o.ExternalDNS = ExternalDNS{Provider: "azure", SecretName: "s"} }, "install.DNSDomainFilter is required"},
		{"two credentials", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", Credentials: []byte("c")}
		}, "only one of"},
		{"credentials of another kind", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(`{"tenantId":"t","subscriptionId":"s","clientId":"c","clientSecret":"x"}`)}
		}, "lacks resourceGroup, aadClientId, aadClientSecret"},
		{"credentials that are no JSON", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte("[default]")}
		}, "install.DNSCredentials is no JSON"},
		{"credentials", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(
				`{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","aadClientId":"c","aadClientSecret":"x"}`)}
		}, ""},
		{"credentials without provider", func(o *Options) { o.ExternalDNS.Credentials = []byte("c") }, ""},
		{"workload identity without a name", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(workloadIdentity)}
		}, "install.DNSClientID is required"},
		{"workload identity", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(workloadIdentity), ClientID: "c"}
		}, ""},
		{"identity beside a secret", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", ClientID: "c", Credentials: []byte(
				`{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","aadClientId":"c","aadClientSecret":"x"}`)}
		}, "needs a file of install.DNSCredentials with useWorkloadIdentityExtension"},
		{"identity in a Secret of an unknown tenant", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", ClientID: "c", SecretName: "s"}
		}, "install.DNSTenantID is required"},
		{"zones of another provider", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", AWSZonesCache: "1h"}
		}, "goes with install.DNSProvider=aws"},
		{"interval", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", Interval: "soon"}
		}, "install.DNSInterval"},
		{"pull secret of another kind", func(o *Options) { o.PullSecret = []byte(`{"quay.io":{}}`) }, "install.PullSecret is not a dockerconfigjson"},
		{"bundle without certificates", func(o *Options) { o.TrustBundle = []byte("hello") }, "install.TrustBundle holds no certificate"},
		{"egress", func(o *Options) { o.EgressBlockCIDRs = []string{"10.0.0.0/8", "10.0.0.1"} }, `install.EgressBlockCIDRs "10.0.0.1"`},
		{"all egress", func(o *Options) { o.EgressBlockCIDRs = []string{"0.0.0.0/0"} }, `install.EgressBlockCIDRs "0.0.0.0/0"`},
		{"overrides", func(o *Options) { o.RegistryOverrides = "quay.io=mirror,quay.io" }, `install.RegistryOverrides "quay.io"`},
		{"environment", func(o *Options) { o.ExtraEnv = map[string]string{"A B": "c"} }, "install.ExtraEnv"},
		{"namespace", func(o *Options) { o.Namespace = "Hyper Shift" }, "install.Namespace"},
		{"domain", func(o *Options) { o.IngressDomain = "*.apps" }, "install.IngressDomain"},
		{"private platform", func(o *Options) { o.PrivatePlatform = "Azure" }, "install.PrivatePlatform"},
		{"monitoring", func(o *Options) { o.PlatformMonitoring = "all" }, "install.PlatformMonitoring"},
		{"nobody converts", func(o *Options) { o.NoCAPIMigration, o.NoCAPIConversion = true, true }, "exclude each other"},
		{"two mistakes", func(o *Options) { o.MetricsSet, o.PrivatePlatform = "none", "azure" }, "install.MetricsSet \"none\" is unknown; use one of Telemetry, SRE, All\ninstall.PrivatePlatform"},
		{"too slow rotation", func(o *Options) { o.CertRotationScale = 25 * time.Hour }, "install.CertRotationScale"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := minimal()
			tc.change(o)
			err := o.Normalize()
			if tc.cue == "" && err != nil {
				t.Fatal(err)
			}
			if tc.cue != "" && (err == nil || !strings.Contains(err.Error(), tc.cue)) {
				t.Fatalf("error %v, want one that names %q", err, tc.cue)
			}
		})
	}
	o := minimal()
	o.Platforms = []string{"azure"}
	if err := o.Normalize(); err != nil || o.Platforms[0] != "Azure" || o.ImagePullPolicy != "IfNotPresent" {
		t.Errorf("not canonical: %v %q, %v", o.Platforms, o.ImagePullPolicy, err)
	}
}

func TestCRDsFollowThePlatform(t *testing.T) {
	names := func(platforms ...string) []string {
		crds, err := (&Options{Platforms: platforms}).CRDs()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, crd := range crds {
			out = append(out, crd.Name)
			stored := 0
			for _, v := range crd.Spec.Versions {
				if v.Storage {
					stored++
					if !v.Served {
						t.Errorf("%s stores %s without serving it", crd.Name, v.Name)
					}
				}
			}
			if stored != 1 {
				t.Errorf("%s stores %d versions", crd.Name, stored)
			}
		}
		return out
	}
	const azureMachines = "azuremachines.infrastructure.cluster.x-k8s.io"
	for _, tc := range []struct {
		platforms []string
		azure     bool
	}{{nil, true}, {[]string{"Azure"}, true}, {[]string{"AWS"}, false}} {
		got := names(tc.platforms...)
		if slices.Contains(got, azureMachines) != tc.azure {
			t.Errorf("platforms %v: %s installed is %v", tc.platforms, azureMachines, !tc.azure)
		}
		if slices.Contains(got, "azureprivatelinkservices.hypershift.openshift.io") != tc.azure {
			t.Errorf("platforms %v: private links installed is %v", tc.platforms, !tc.azure)
		}
		if !slices.Contains(got, "hostedclusters.hypershift.openshift.io") || !slices.Contains(got, "machines.cluster.x-k8s.io") {
			t.Errorf("platforms %v: our own or the core definitions are missing: %v", tc.platforms, got)
		}
	}
}

func TestTechPreview(t *testing.T) {
	for preview, want := range map[bool]string{false: "Default", true: "TechPreviewNoUpgrade"} {
		crds, err := (&Options{TechPreview: preview}).CRDs()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, crd := range crds {
			if seen[crd.Name] != "" {
				t.Errorf("%s is there twice", crd.Name)
			}
			seen[crd.Name] = crd.Annotations["release.openshift.io/feature-set"] + "."
		}
		if seen["hostedclusters.hypershift.openshift.io"] != want+"." || (seen["hcpetcdbackups.hypershift.openshift.io"] != "") != preview {
			t.Errorf("preview %t: %v", preview, seen)
		}
		if seen["controlplanecomponents.hypershift.openshift.io"] != "Default." {
			t.Errorf("preview %t: ControlPlaneComponents are %s", preview, seen["controlplanecomponents.hypershift.openshift.io"])
		}
	}
}

// Cluster API finds the version of a reference by this label; without it no Machine is ever created.
func TestContractLabels(t *testing.T) {
	crds, err := (&Options{}).CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		refers := crd.Spec.Group == "infrastructure.cluster.x-k8s.io" || crd.Name == "hostedcontrolplanes.hypershift.openshift.io"
		if refers && crd.Labels["cluster.x-k8s.io/v1beta1"] != "v1beta1" {
			t.Errorf("%s lacks the contract label", crd.Name)
		}
	}
}

func TestOperatorPullsAndReachesTheOutside(t *testing.T) {
	o := minimal()
	o.PullSecret = []byte(`{"auths":{}}`)
	o.Proxy = proxyenv.Proxy{HTTPSProxy: "http://proxy:1", TrustBundle: contract.TrustedCA}
	if err := o.Normalize(); err != nil {
		t.Fatal(err)
	}
	var deployment *appsv1.Deployment
	var names []string
	for _, obj := range o.Objects() {
		names = append(names, obj.GetObjectKind().GroupVersionKind().Kind+"/"+obj.GetName())
		if d, ok := obj.(*appsv1.Deployment); ok {
			deployment = d
		}
	}
	for _, want := range []string{"Secret/pull-secret", "ConfigMap/trusted-ca", "Namespace/hypershift"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing: %v", want, names)
		}
	}
	pod := deployment.Spec.Template.Spec
	if len(pod.ImagePullSecrets) != 1 {
		t.Error("the operator does not use the pull secret")
	}
	if !slices.ContainsFunc(pod.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" }) {
		t.Error("the operator does not get the proxy")
	}
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == contract.TrustedCA }) {
		t.Error("the operator does not trust the management cluster's authorities")
	}
}

func TestOperatorTrustsTheGivenAuthorities(t *testing.T) {
	for _, tc := range []struct {
		given   string
		cluster proxyenv.Proxy
		want    string // ConfigMaps, in one volume
	}{
		{"", proxyenv.Proxy{}, ""},
		{"PEM", proxyenv.Proxy{}, trustBundleName},
		{"PEM", proxyenv.Proxy{TrustBundle: "cluster"}, trustBundleName + " cluster"},
		{"", proxyenv.Proxy{TrustBundle: "cluster"}, "cluster"},
	} {
		o := minimal()
		o.TrustBundle, o.Proxy = []byte(tc.given), tc.cluster
		deployment, ok := o.operatorDeployment().(*appsv1.Deployment)
		if !ok {
			t.Fatal("no Deployment")
		}
		var got []string
		mounts := map[string]int{}
		for _, m := range deployment.Spec.Template.Spec.Containers[0].VolumeMounts {
			mounts[m.MountPath]++
		}
		for _, v := range deployment.Spec.Template.Spec.Volumes {
			if v.ConfigMap != nil {
				got = append(got, v.ConfigMap.Name)
			}
			if v.Projected != nil {
				for _, source := range v.Projected.Sources {
					got = append(got, source.ConfigMap.Name)
				}
			}
		}
		wanted := min(len(tc.want), 1)
		if strings.Join(got, " ") != tc.want || mounts[proxyenv.TrustBundleDir] != wanted {
			t.Errorf("given %q and %q: ConfigMaps %v, mounts %v; want %q", tc.given, tc.cluster.TrustBundle, got, mounts, tc.want)
		}
	}
}

func TestOperatorMayNotEscalate(t *testing.T) {
	for _, r := range operatorRules() {
		if slices.Contains(r.APIGroups, rbacv1.GroupName) && slices.ContainsFunc(r.Verbs, func(v string) bool { return v == "*" || v == "escalate" || v == "bind" }) {
			t.Errorf("rule %v lets the operator grant rights that it does not hold", r)
		}
		if slices.Contains(r.APIGroups, "*") {
			t.Errorf("rule %v covers every group", r)
		}
	}
}

func TestExternalDNS(t *testing.T) {
	o := minimal()
	o.ExternalDNS = ExternalDNS{Provider: "azure", Credentials: []byte(workloadIdentity), DomainFilter: "example.com", TXTOwnerID: "me", Image: "dns:1", ClientID: "id"}
	if err := o.Normalize(); err != nil {
		t.Fatal(err)
	}
	d := find[*appsv1.Deployment](t, o, externalDNSName)
	container := d.Spec.Template.Spec.Containers[0]
	for _, want := range []string{"--domain-filter=example.com", "--txt-owner-id=me", "--azure-config-file=/etc/provider/credentials"} {
		if !slices.Contains(container.Args, want) {
			t.Errorf("%s is missing in %v", want, container.Args)
		}
	}
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
	}
	if env["AZURE_SDK_MAX_RETRIES"] == "" || env["AZURE_CLIENT_ID"] != "id" || env["AZURE_TENANT_ID"] != "t" {
		t.Errorf("environment %v", env)
	}
	sa := find[*corev1.ServiceAccount](t, o, externalDNSName)
	if sa.Annotations["azure.workload.identity/client-id"] != "id" {
		t.Errorf("service account %v", sa.Annotations)
	}
	mounted := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return env["AZURE_FEDERATED_TOKEN_FILE"] == m.MountPath+"/"+tokenFile })
	projected := slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && v.Projected.Sources[0].ServiceAccountToken.Audience == "api://AzureADTokenExchange"
	})
	if !mounted || !projected {
		t.Error("no token for Entra")
	}
}

func find[T client.Object](t *testing.T, o *Options, name string) T {
	t.Helper()
	for _, obj := range o.Objects() {
		if typed, ok := obj.(T); ok && obj.GetName() == name {
			return typed
		}
	}
	var none T
	t.Fatalf("no %T %s", none, name)
	return none
}
