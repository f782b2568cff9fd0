package checks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// one is a HostedCluster with infrastructure of its own, so many minutes old.
func one(name string, minutes int) *hyperv1.HostedCluster {
	hc := hostedclustertest.Cluster(name, "image")
	hc.UID, hc.Spec.InfraID = types.UID(name), name+"-x1"
	hc.CreationTimestamp = metav1.NewTime(time.Unix(0, 0).Add(-time.Duration(minutes) * time.Minute))
	return hc
}

func at(hc *hyperv1.HostedCluster, host string) *hyperv1.HostedCluster {
	hc.Spec.Services[0].ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.Route,
		Route: &hyperv1.RoutePublishingStrategy{Hostname: hyperv1.Hostname(host)}}
	return hc
}

// running is the control plane that a HostedCluster has, as it wants it now.
func running(hc *hyperv1.HostedCluster) *hyperv1.HostedControlPlane {
	hcp := wishes(hc.DeepCopy())
	hcp.Namespace = contract.ControlPlaneNamespace(hc.Namespace, hc.Name)
	return hcp
}

// TestUnique: of two that want the same, exactly one is told so: who came second, or who has not got it.
func TestUnique(t *testing.T) {
	inGroup := func(hc *hyperv1.HostedCluster, subscription, group string) *hyperv1.HostedCluster {
		hc.Spec.Platform.Azure.SubscriptionID, hc.Spec.Platform.Azure.ResourceGroupName = subscription, group
		return hc
	}
	infra := func(hc *hyperv1.HostedCluster) *hyperv1.HostedCluster { hc.Spec.InfraID = "same"; return hc }
	zoned := func(hc *hyperv1.HostedCluster, zone string) *hyperv1.HostedCluster {
		hc.Spec.DNS = hyperv1.DNSSpec{BaseDomain: "corp.test", PublicZoneID: zone}
		return hc
	}
	longer := one("b", 5)
	longer.Spec.KubeAPIServerDNSName = "a.test."
	kas := one("a", 9)
	kas.Spec.KubeAPIServerDNSName = "A.test"
	for name, c := range map[string]struct {
		older, younger *hyperv1.HostedCluster
		// has is whose control plane has what it wants: "", "a", "b" or "ab".
		has                 string
		toldOlder, toldYoun string
	}{
		"nothing in common": {one("a", 9), one("b", 5), "", "", ""},
		"infrastructure":    {infra(one("a", 9)), infra(one("b", 5)), "ab", "", `spec.infraID "same" is that of another`},
		"made at once":      {infra(one("a", 5)), infra(one("b", 5)), "", "", `spec.infraID "same"`},
		"a group, in other letters": {inGroup(one("a", 9), "s", "Group"), inGroup(one("b", 5), "s", "gROUP"), "", "",
			`spec.platform.azure.resourceGroup "gROUP"`},
		"a group of another subscription":   {inGroup(one("a", 9), "s", "group"), inGroup(one("b", 5), "t", "group"), "", "", ""},
		"a host name":                       {at(one("a", 9), "a.test"), at(one("b", 5), "A.test"), "", "", `spec.services[0]: the host name "a.test"`},
		"both have it":                      {at(one("a", 9), "a.test"), at(one("b", 5), "a.test"), "ab", "", `the host name "a.test"`},
		"written in after another had it":   {at(one("a", 9), "a.test"), at(one("b", 5), "a.test"), "b", `the host name "a.test"`, ""},
		"a further name of the API server":  {kas, longer, "", "", `spec.kubeAPIServerDNSName: the host name "a.test"`},
		"a service's and a further name":    {at(one("a", 9), "a.test"), longer, "", "", "spec.kubeAPIServerDNSName"},
		"below another's applications":      {zoned(one("a", 9), "/z"), at(one("b", 5), "console.apps.a.corp.test"), "", "", "console.apps.a.corp.test"},
		"beside another's applications":     {zoned(one("a", 9), "/z"), at(one("b", 5), "console.apps.b.corp.test"), "", "", ""},
		"applications, no records are made": {zoned(one("a", 9), ""), at(one("b", 5), "console.apps.a.corp.test"), "", "", ""},
	} {
		var objects []client.Object
		for _, hc := range []*hyperv1.HostedCluster{c.older, c.younger} {
			objects = append(objects, hc)
			if strings.Contains(c.has, hc.Name) {
				objects = append(objects, running(hc))
			}
		}
		for hc, says := range map[*hyperv1.HostedCluster]string{c.older: c.toldOlder, c.younger: c.toldYoun} {
			asks := hostedclustertest.At(hc)
			asks.Client = surveytest.Client(objects...).Build()
			problems, err := Unique(t.Context(), asks)
			told := errors.Join(problems...)
			if err != nil || (told == nil) != (says == "") || told != nil && !strings.Contains(told.Error(), says) {
				t.Errorf("%s: %s is told %v, want %q; %v", name, hc.Name, told, says, err)
			}
			// Whose it is may be no business of who asks.
			if other := map[string]string{"a": "clusters/b", "b": "clusters/a"}[hc.Name]; told != nil && strings.Contains(told.Error(), other) {
				t.Errorf("%s: %v", name, told)
			}
		}
	}
}

// TestUniqueUnread: others that cannot be read are not taken for none.
func TestUniqueUnread(t *testing.T) {
	for _, kind := range []string{"*v1beta1.HostedClusterList", "*v1beta1.HostedControlPlane"} {
		asks := hostedclustertest.At(at(one("b", 5), "a.test"))
		fails := func(obj any) error {
			if fmt.Sprintf("%T", obj) == kind {
				return errors.New("no answer")
			}
			return nil
		}
		asks.Client = surveytest.Client(at(one("a", 9), "a.test")).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
				if err := fails(obj); err != nil {
					return err
				}
				return inner.Get(ctx, key, obj, o...)
			},
			List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if err := fails(list); err != nil {
					return err
				}
				return inner.List(ctx, list, o...)
			},
		}).Build()
		if problems, err := Unique(t.Context(), asks); err == nil || problems != nil {
			t.Errorf("%s: %v, %v", kind, problems, err)
		}
	}
}

// TestDomainsOfApplications meet where they have records in the same zone.
func TestDomainsOfApplications(t *testing.T) {
	domain := func(zones ...string) hostName { return hostName{"spec.dns", "apps.demo.test", zones} }
	for name, c := range map[string]struct {
		a, b hostName
		want bool
	}{
		"the same zone":       {domain("z1", "z2"), domain("z2"), true},
		"different zones":     {domain("z1"), domain("z2"), false},
		"a host of the name":  {domain("z1"), hostName{name: "apps.demo.test"}, false},
		"a host below":        {hostName{name: "x.apps.demo.test"}, domain("z1"), true},
		"a host that ends so": {hostName{name: "xapps.demo.test"}, domain("z1"), false},
		"a domain below":      {hostName{"", "x.apps.demo.test", []string{"z1"}}, domain("z1"), false},
	} {
		if c.a.meets(c.b) != c.want || c.b.meets(c.a) != c.want {
			t.Errorf("%s: %t, %t", name, c.a.meets(c.b), c.b.meets(c.a))
		}
	}
}

func certificate(t *testing.T, names []string, addresses ...string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestServingCertificate: one for a name by which the control plane asks its own API server would cut it off from itself.
func TestServingCertificate(t *testing.T) {
	const field = servingCertificates + "[0].servingCertificate"
	for name, c := range map[string]struct {
		field string
		pem   []byte
		says  string
	}{
		"the user's name":        {field, certificate(t, []string{"api.test"}), ""},
		"the Service's":          {field, certificate(t, []string{"api.test", "Kube-APIserver"}), `"Kube-APIserver" is a name of the control plane's own`},
		"its full name":          {field, certificate(t, []string{"kube-apiserver.clusters-demo.svc.cluster.local"}), "is a name of the control plane's own"},
		"another cluster's":      {field, certificate(t, []string{"kube-apiserver.clusters-demo2.svc"}), ""},
		"the private name":       {field, certificate(t, []string{"api.demo.hypershift.local"}), "is a name of"},
		"an address of its own":  {field, certificate(t, nil, "127.0.0.1"), `"127.0.0.1" is a name of`},
		"another address":        {field, certificate(t, nil, "192.0.2.1"), ""},
		"none":                   {field, []byte("plain"), `Secret "serving" has no certificate in PEM under key tls.crt`},
		"broken":                 {field, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "cannot be read"},
		"of something else":      {"spec.pullSecret", nil, ""},
		"of the ingress's Route": {"spec.configuration.ingress.componentRoutes[0]", certificate(t, []string{"localhost"}), ""},
	} {
		err := ServingCertificate(hostedclustertest.Cluster("demo", "image"), c.field, "serving", map[string][]byte{corev1.TLSCertKey: c.pem})
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.field)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLengthOfNames: the namespace of a control plane is a label of DNS, and one character decides.
func TestLengthOfNames(t *testing.T) {
	for length, fits := range map[int]bool{63: true, 64: false} {
		hc := one(strings.Repeat("x", length-len("clusters-")), 1)
		hc.Spec.ClusterID = "11111111-2222-4333-8444-555555555555"
		if err := errors.Join(Configuration(hc)...); (err == nil) != fits {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}

// TestWalk leads to each place by its name, through lists, and past what is something else than expected.
func TestWalk(t *testing.T) {
	content := map[string]any{"a": map[string]any{"list": []any{map[string]any{"x": 1}, "odd", map[string]any{"y": 2}, map[string]any{"x": 3}}}, "b": "text"}
	var got []string
	for _, path := range []string{"a.list[].x", "b.list[].x", "a.list.x", "none.x"} {
		Walk(content, strings.Split(path, "."), "spec", func(place string, value any) { got = append(got, fmt.Sprint(place, "=", value)) })
	}
	if want := []string{"spec.a.list[0].x=1", "spec.a.list[3].x=3"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
