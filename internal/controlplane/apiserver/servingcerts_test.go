package apiserver

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

func TestUserServingCertificates(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &runtime.RawExtension{Raw: []byte(`{"servingCerts":{"namedCertificates":[
		{"names":["api.example.com","*.example.org"],"servingCertificate":{"name":"first"}},{"servingCertificate":{"name":"second"}}, {"names":["x.test"]}]}}`)}}
	ctx := &component.Context{HCP: hcp}
	for _, want := range []string{
		"--tls-sni-cert-key=/etc/kubernetes/certs/server-private/tls.crt,/etc/kubernetes/certs/server-private/tls.key",
		"--tls-sni-cert-key=/etc/kubernetes/certs/server-named-0/tls.crt,/etc/kubernetes/certs/server-named-0/tls.key:api.example.com,*.example.org",
		"--tls-sni-cert-key=/etc/kubernetes/certs/server-named-1/tls.crt,/etc/kubernetes/certs/server-named-1/tls.key",
	} {
		if !slices.Contains(Args(ctx), want) {
			t.Errorf("no argument %s", want)
		}
	}
	pod := &corev1.PodSpec{Containers: make([]corev1.Container, 2)}
	mountNamed(serving(ctx), pod)
	for i, secret := range []string{"first", "second"} {
		if got := pod.Volumes[i].Secret.SecretName; got != secret || pod.Volumes[i].Name != namedVolume(i) {
			t.Errorf("volume %s is of Secret %s", pod.Volumes[i].Name, got)
		}
		if m := pod.Containers[0].VolumeMounts[i]; m.MountPath != certDir+"/"+namedVolume(i) || !m.ReadOnly || len(pod.Containers[1].VolumeMounts) > 0 {
			t.Errorf("mount %+v", m)
		}
		if !slices.Contains(reloads(ctx), secret) {
			t.Errorf("a renewed %s restarts the API server", secret)
		}
	}
}
