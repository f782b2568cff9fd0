package install

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

func minimal() *Options {
	return &Options{
		Namespace: "hypershift", Image: "operator:1", ImagePullPolicy: "ifnotpresent", MetricsSet: "telemetry",
		PrivatePlatform: "None", CertRotationScale: 24 * time.Hour,
	}
}

func TestNormalize(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		cue    string // "" when valid
	}{
		{"bare", func(*Options) {}, ""},
		{"platform in any case", func(o *Options) { o.Platforms = []string{"azure"} }, ""},
		{"unknown platform", func(o *Options) { o.Platforms = []string{"moon"} }, "--limit-crd-install"},
		{"unknown pull policy", func(o *Options) { o.ImagePullPolicy = "sometimes" }, "--image-pull-policy"},
		{"dns without credentials", func(o *Options) { o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d"} }, "are required with --external-dns-provider"},
		{"dns without filter", func(o *Options) { o.ExternalDNS = ExternalDNS{Provider: "azure", SecretName: "s"} }, "--external-dns-domain-filter is required"},
		{"two credentials", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", SecretName: "s", Credentials: []byte("c")}
		}, "only one of"},
		{"credentials of another kind", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(`{"tenantId":"t","subscriptionId":"s","clientId":"c","clientSecret":"x"}`)}
		}, "lacks resourceGroup, aadClientId, aadClientSecret"},
		{"credentials that are no JSON", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte("[default]")}
		}, "--external-dns-credentials is no JSON"},
		{"credentials", func(o *Options) {
			o.ExternalDNS = ExternalDNS{Provider: "azure", DomainFilter: "d", Credentials: []byte(
				`{"tenantId":"t","subscriptionId":"s","resourceGroup":"g","aadClientId":"c","aadClientSecret":"x"}`)}
		}, ""},
		{"credentials without provider", func(o *Options) { o.ExternalDNS.Credentials = []byte("c") }, ""},
		{"too slow rotation", func(o *Options) { o.CertRotationScale = 25 * time.Hour }, "--cert-rotation-scale"},
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
		if !slices.Contains(got, "hostedclusters.hypershift.openshift.io") || !slices.Contains(got, "machines.cluster.x-k8s.io") {
			t.Errorf("platforms %v: our own or the core definitions are missing: %v", tc.platforms, got)
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
	o.PullSecret = []byte("{}")
	o.Proxy = proxyenv.Proxy{HTTPSProxy: "http://proxy:1", TrustBundle: proxyenv.TrustBundleName}
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
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == proxyenv.TrustBundleName }) {
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
	o.ExternalDNS = ExternalDNS{Provider: "azure", Credentials: []byte("c"), DomainFilter: "example.com", TXTOwnerID: "me", Image: "dns:1"}
	objs := o.externalDNS()
	d, ok := objs[len(objs)-1].(*appsv1.Deployment)
	if !ok {
		t.Fatalf("last object is %T", objs[len(objs)-1])
	}
	args := d.Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{"--domain-filter=example.com", "--txt-owner-id=me", "--azure-config-file=/etc/provider/credentials"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing in %v", want, args)
		}
	}
	if len(o.ExternalDNS.container().Env) == 0 {
		t.Error("AZURE_SDK_MAX_RETRIES is missing")
	}
}
