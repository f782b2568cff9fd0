package operators

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// The operator of a control plane learns of images and registries by its arguments.
func TestOverridesReachTheControlPlane(t *testing.T) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hyperv1.ImageOverridesAnnotation: "etcd=mine:1,apiserver-network-proxy=mine:2"}}}
	options := Options{KonnectivityImage: "operator:1", RegistryOverrides: "quay.io/a=mirror/a"}
	args := strings.Join(arguments(hc, options), " ")
	if !strings.HasSuffix(args, "--registry-overrides quay.io/a=mirror/a --image-overrides apiserver-network-proxy=operator:1,etcd=mine:1,apiserver-network-proxy=mine:2") {
		t.Errorf("arguments %s", args)
	}
	images, err := release.ParseImages(args[strings.LastIndex(args, " ")+1:])
	if err != nil || images[release.KeyKonnectivity] != "mine:2" {
		t.Errorf("images %v, %v", images, err)
	}
	if !slices.ContainsFunc(environment(hc, options, "quay.io=mirror", workloads.Settings{}), func(e corev1.EnvVar) bool { return e.Name == release.MirrorsEnv && e.Value == "quay.io=mirror" }) {
		t.Error("the mirrors of the management cluster are not passed on")
	}
	if args := strings.Join(arguments(&hyperv1.HostedCluster{}, Options{}), " "); strings.Contains(args, "overrides") {
		t.Errorf("arguments of a plain cluster %s", args)
	}
}

func TestCertificateTimesReachTheControlPlane(t *testing.T) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		hyperv1.CertificateValidityAnnotation: "720h", hyperv1.CertificateRenewalAnnotation: "0.5"}}}
	env := map[string]string{}
	for _, variable := range environment(hc, Options{}, "", workloads.Settings{}) {
		env[variable.Name] = variable.Value
	}
	if env["CERTIFICATE_VALIDITY"] != "720h" || env["CERTIFICATE_RENEWAL"] != "0.5" {
		t.Errorf("%v", env)
	}
}
