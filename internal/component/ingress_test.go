package component

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func TestDefaultIngress(t *testing.T) {
	const scope, private = hyperv1.IngressControllerScopeAnnotation, hyperv1.PrivateIngressControllerAnnotation
	for name, test := range map[string]struct {
		topology    hyperv1.AzureTopology
		annotations map[string]string
		strategy    string
		want        Ingress
		refused     bool
	}{
		"public":             {want: Ingress{Scope: IngressExternal}},
		"private topology":   {topology: hyperv1.AzureTopologyPrivate, want: Ingress{Scope: IngressInternal}},
		"scope annotation":   {annotations: map[string]string{scope: "Internal"}, want: Ingress{Scope: IngressInternal}},
		"private router":     {annotations: map[string]string{private: "true", scope: "Internal"}, want: Ingress{Scope: IngressPrivate}},
		"strategy wins":      {annotations: map[string]string{private: "true"}, strategy: `{"type":"LoadBalancerService","loadBalancer":{"scope":"Internal","dnsManagementPolicy":"Unmanaged"}}`, want: Ingress{Scope: IngressInternal, Unmanaged: true}},
		"private strategy":   {strategy: `{"type":"Private"}`, want: Ingress{Scope: IngressPrivate}},
		"unknown strategy":   {strategy: `{"type":"HostNetwork"}`, refused: true},
		"not even a JSON":    {strategy: `{`, refused: true},
		"strategy by itself": {strategy: `{"type":"LoadBalancerService"}`, want: Ingress{Scope: IngressExternal}},
	} {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Annotations: test.annotations}}
		hcp.Spec.Platform.Azure = &hyperv1.AzurePlatformSpec{Topology: test.topology}
		if test.strategy != "" {
			hcp.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{IngressOperator: &hyperv1.IngressOperatorSpec{
				EndpointPublishingStrategy: &runtime.RawExtension{Raw: []byte(test.strategy)}}}
		}
		got, err := DefaultIngress(hcp)
		if (err != nil) != test.refused || (err == nil && got != test.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, test.want)
		}
	}
}
