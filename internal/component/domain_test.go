package component

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestAppsDomain(t *testing.T) {
	for _, test := range []struct {
		prefix  *string
		ingress string
		want    string
	}{
		{nil, "", "apps.demo.example.com"},
		{ptr.To("shop"), "", "apps.shop.example.com"},
		{ptr.To(""), "", "apps.example.com"},
		{nil, `{"domain":"apps.example.org"}`, "apps.example.org"},
		{nil, `{"appsDomain":"x.example.org"}`, "apps.demo.example.com"},
	} {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
		hcp.Spec.DNS = hyperv1.DNSSpec{BaseDomain: "example.com", BaseDomainPrefix: test.prefix}
		if test.ingress != "" {
			hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &runtime.RawExtension{Raw: []byte(test.ingress)}}
		}
		if got, err := AppsDomain(hcp); err != nil || got != test.want {
			t.Errorf("prefix %v, ingress %q: %q, %v; want %q", test.prefix, test.ingress, got, err, test.want)
		}
	}
	broken := &hyperv1.HostedControlPlane{}
	broken.Spec.Configuration = &hyperv1.ClusterConfiguration{Ingress: &runtime.RawExtension{Raw: []byte("{")}}
	if _, err := AppsDomain(broken); err == nil {
		t.Error("a configuration that cannot be read gives a domain")
	}
}
