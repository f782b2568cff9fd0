package inside

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

const home = surveytest.Namespace

func configMap(namespace, name string, data map[string]string, labels ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}, Data: data}
	for i := 0; i+1 < len(labels); i += 2 {
		cm.Labels[labels[i]] = labels[i+1]
	}
	return cm
}

func readerOf(management []client.Object, guest ...client.Object) *Reader {
	inGuest := fake.NewClientBuilder().WithObjects(guest...).Build()
	return &Reader{Management: surveytest.Client(management...).Build(), Guest: inGuest, Live: inGuest, Namespace: home}
}

func silent() client.Client {
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		},
	}).Build()
}

// configured is a control plane whose user names objects in each place of which the guest has a copy.
func configured() *hyperv1.HostedControlPlane {
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	return &hyperv1.HostedControlPlane{Spec: hyperv1.HostedControlPlaneSpec{Configuration: &hyperv1.ClusterConfiguration{
		Proxy: &hyperv1.ProxySpec{TrustedCA: &corev1.LocalObjectReference{Name: "proxy-ca"}},
		Image: raw(`{"additionalTrustedCA":{"name":"registries"}}`),
		Authentication: raw(`{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"https://i.test","audiences":["a"],
			"issuerCertificateAuthority":{"name":"issuer-ca"}},
			"oidcClients":[{"componentName":"console","componentNamespace":"openshift-console","clientID":"c","clientSecret":{"name":"console-client"}}]}]}`),
	}}}
}

// TestCopies: what the user names comes to where the guest's programs look for it, under their keys; what does not exist has no copy, a payload's own
// copy comes with that payload only, and of a Secret no other key comes along.
func TestCopies(t *testing.T) {
	sources := []client.Object{
		configMap(home, contract.UserCABundle, map[string]string{hyperv1.TrustBundleKey: "user"}), configMap(home, contract.KubeletCA,
			map[string]string{contract.CAKey: "kubelet"}),
		configMap(home, "proxy-ca", map[string]string{hyperv1.TrustBundleKey: "proxy"}), configMap(home, "registries",
			map[string]string{"r.test": "registry", "s.test": "another"}),
		configMap("clusters-other", "issuer-ca", map[string]string{hyperv1.TrustBundleKey: "another's"}),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "console-client"}, Data: map[string][]byte{"clientSecret": []byte("s"),
			"other": []byte("x")}},
	}
	plain := []string{"openshift-config-managed/kubelet-serving-ca=ca-bundle.crt:kubelet", "openshift-config/console-client=clientSecret:s",
		"openshift-config/proxy-ca=ca-bundle.crt:proxy",
		"openshift-config/registries=r.test:registry,s.test:another", "openshift-config/user-ca-bundle=ca-bundle.crt:user"}
	for kind, want := range map[release.Kind][]string{
		release.KindKubernetes: plain, release.KindOpenShift: append(slices.Clone(plain), "openshift-controller-manager/openshift-user-ca=ca-bundle.crt:proxy"),
	} {
		objects, err := readerOf(sources).readCopies(t.Context(), configured(), kind)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, obj := range objects {
			var parts []string
			switch o := obj.(type) {
			case *corev1.Secret:
				for key, value := range o.Data {
					parts = append(parts, key+":"+string(value))
				}
			case *corev1.ConfigMap:
				for key, value := range o.Data {
					parts = append(parts, key+":"+value)
				}
			}
			slices.Sort(parts)
			if text := obj.GetNamespace() + "/" + obj.GetName() + "=" + strings.Join(parts, ","); obj.GetNamespace() != contract.APIOperatorNamespace {
				got = append(got, text)
			} else if _, is := obj.(*corev1.Secret); !is || parts[0] != "tls.crt:kubelet" || len(parts) != 1 {
				t.Errorf("the signer's key is in the guest, or its authority is not: %s", text)
			}
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s:\n got %q\nwant %q", kind, got, want)
		}
	}
	reader := readerOf(nil)
	reader.Management = silent()
	if _, err := reader.readCopies(t.Context(), configured(), release.KindKubernetes); err == nil {
		t.Error("what cannot be read is taken for gone, and its copy deleted")
	}
}

// TestSecretsRead: the config operator may read these Secrets and no others; a configuration that is malformed names none.
func TestSecretsRead(t *testing.T) {
	hcp := configured()
	for kind, login := range map[release.Kind]bool{release.KindKubernetes: false, release.KindOpenShift: true} {
		names := SecretsRead(hcp, kind)
		if !slices.Contains(names, "console-client") || slices.Contains(names, contract.KubeadminPassword) != login || !slices.Contains(names,
			contract.PullSecret) {
			t.Errorf("%s: %v", kind, names)
		}
	}
	hcp.Spec.Configuration.Authentication.Raw = []byte("{")
	if names := SecretsRead(hcp, release.KindKubernetes); !slices.Equal(names, SourceSecrets) {
		t.Errorf("%v", names)
	}
}

// TestAdditionalPullSecret: what the guest's administrator adds is used, or not, and never holds anything else up; his error takes no registry away.
func TestAdditionalPullSecret(t *testing.T) {
	const original = `{"auths":{"quay.io":{"auth":"one"}}}`
	added := func(text string) *Reader {
		return readerOf(nil, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: KubeSystem, Name: AdditionalPullSecret},
			Data: map[string][]byte{hyperv1.PullSecretKey: []byte(text)}})
	}
	for name, c := range map[string]struct {
		reader *Reader
		want   string
	}{
		"none":            {readerOf(nil), ""},
		"another":         {added(`{"auths":{"r.test":{"auth":"two"}}}`), `{"auths":{"quay.io":{"auth":"one"},"r.test":{"auth":"two"}}}`},
		"the same":        {added(`{"auths":{"quay.io":{"auth":"two"}}}`), original},
		"no JSON":         {added(`{`), ""},
		"no registries":   {added(`{}`), ""},
		"null":            {added(`null`), ""},
		"a text":          {added(`{"auths":{"r.test":"two"}}`), ""},
		"null, a login":   {added(`{"auths":{"r.test":null}}`), ""},
		"nothing at all":  {added(``), ""},
		"one good of two": {added(`{"auths":{"r.test":{"auth":"two"},"s.test":[]}}`), ""},
	} {
		got, err := c.reader.mergedPullSecret(t.Context(), []byte(original))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	reader := readerOf(nil)
	reader.Live = silent()
	if _, err := reader.mergedPullSecret(t.Context(), []byte(original)); err == nil {
		t.Error("what cannot be read is taken for none: nodes would lose the registries")
	}
}

// TestForwarding: the guest is told of the proxy when all of it is there, and only where metrics are to be forwarded.
func TestForwarding(t *testing.T) {
	whole := map[string]string{"config.yaml": "components: [{name: etcd}, {name: kube-apiserver}]", contract.MetricsProxyHost: "m.test", contract.CAKey: "ca"}
	for name, change := range map[string]func(data map[string]string, hcp *hyperv1.HostedControlPlane){
		"all of it":      func(map[string]string, *hyperv1.HostedControlPlane) {},
		"no host":        func(data map[string]string, _ *hyperv1.HostedControlPlane) { data[contract.MetricsProxyHost] = "" },
		"no authority":   func(data map[string]string, _ *hyperv1.HostedControlPlane) { delete(data, contract.CAKey) },
		"nothing to see": func(data map[string]string, _ *hyperv1.HostedControlPlane) { data["config.yaml"] = "components: []" },
		"not wanted":     func(_ map[string]string, hcp *hyperv1.HostedControlPlane) { hcp.Spec.Monitoring = nil },
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Spec.Monitoring = &hyperv1.Monitoring{MetricsForwarding: &hyperv1.MetricsForwarding{Mode: "Forward"}}
		data := map[string]string{}
		for key, value := range whole {
			data[key] = value
		}
		change(data, hcp)
		facts := &Facts{HCP: hcp}
		if err := readerOf([]client.Object{configMap(home, contract.MetricsProxyConfig, data)}).forwarding(t.Context(), facts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if (facts.Forwarding != nil) != (name == "all of it") {
			t.Errorf("%s: %+v", name, facts.Forwarding)
		}
	}
}

// TestKubeletConfigs: a copy follows its source, stays without it as long as its pool has a machine, and is no business of this one if somebody else's.
func TestKubeletConfigs(t *testing.T) {
	machine := func(namespace, pool string) client.Object {
		m := &unstructured.Unstructured{Object: map[string]any{}}
		m.SetGroupVersionKind(plane.MachineKind)
		m.SetNamespace(namespace)
		m.SetName("m-" + pool)
		m.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: "clusters/" + pool})
		return m
	}
	copyOf := func(name, pool, manager string) client.Object {
		return configMap(contract.ManagedNamespace, name, map[string]string{"c": "old"}, contract.KubeletConfigLabel, "true", hyperv1.NodePoolLabel, pool,
			hyperv1.ManagedByLabel, manager)
	}
	reader := readerOf([]client.Object{machine(home, "drains"), machine("clusters-other", "gone"),
		configMap(home, "kept", map[string]string{"c": "new"}, contract.KubeletConfigLabel, "true", hyperv1.NodePoolLabel, "np"), configMap(home,
			"unrelated", nil)},
		copyOf("kept", "np", ManagedBy), copyOf("left", "drains", ManagedBy), copyOf("orphan", "gone", ManagedBy), copyOf("theirs", "drains", "somebody"))
	facts := &Facts{}
	if err := reader.kubeletConfigs(t.Context(), facts); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, obj := range facts.Copies {
		got[obj.GetName()] = obj.(*corev1.ConfigMap).Data["c"] + " of " + obj.GetLabels()[hyperv1.NodePoolLabel]
	}
	if len(got) != 2 || got["kept"] != "new of np" || got["left"] != "old of drains" {
		t.Errorf("%v", got)
	}
}

// TestOwnNetwork: a guest whose pods have the payload's network keeps it, whatever its user says later.
func TestOwnNetwork(t *testing.T) {
	flannel := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: KubeSystem, Name: FlannelName}}
	for name, c := range map[string]struct {
		asked bool
		guest []client.Object
		want  bool
	}{"not asked for": {false, nil, false}, "from the beginning": {true, nil, true}, "too late": {true, []client.Object{flannel}, false}} {
		hcp := &hyperv1.HostedControlPlane{}
		if hcp.Spec.Networking.NetworkType = hyperv1.OtherNetwork; !c.asked {
			hcp.Spec.Networking.NetworkType = hyperv1.OVNKubernetes
		}
		if got, err := readerOf(nil, c.guest...).OwnNetwork(t.Context(), hcp); err != nil || got != c.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
