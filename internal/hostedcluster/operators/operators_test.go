package operators

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
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

// What approves and signs requests for access in emergencies reaches those of its own control plane, and what is given may be given.
func TestEmergencyAccess(t *testing.T) {
	held := kubetest.Expand(EmergencyRights())
	var names []string
	for _, obj := range EmergencyAccess("clusters-demo", "demo") {
		switch o := obj.(type) {
		case *rbacv1.ClusterRole:
			names = append(names, o.Name)
			for _, rule := range o.Rules {
				signs := slices.Contains(rule.Resources, "signers")
				if signs != (len(rule.ResourceNames) == 2) || signs && rule.ResourceNames[0] != "hypershift.openshift.io/clusters-demo.customer-break-glass" {
					t.Errorf("%s: %v", o.Name, rule)
				}
			}
			for _, right := range kubetest.Expand(o.Rules) {
				if !kubetest.Covers(held, right) {
					t.Errorf("%s: this operator cannot give the right to %s", o.Name, right)
				}
			}
		case *rbacv1.ClusterRoleBinding:
			if s := o.Subjects[0]; s.Name != "control-plane-pki-operator" || s.Namespace != "clusters-demo" || o.RoleRef.Name != o.Name {
				t.Errorf("%s: %+v", o.Name, s)
			}
		}
	}
	if !slices.Equal(names, []string{"clusters-demo-csr-approver", "clusters-demo-csr-signer"}) {
		t.Errorf("roles %v", names)
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
