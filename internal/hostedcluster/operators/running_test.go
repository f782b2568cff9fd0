package operators

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestRunningImage: a new version of this operator does not restart a control plane that nobody changed; a new release of the cluster takes its image.
func TestRunningImage(t *testing.T) {
	running := func(namespace, of string, containers ...corev1.Container) client.Object {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: contract.ControlPlaneOperator}, Spec: appsv1.DeploymentSpec{
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{component.AnnotationReleaseImage: of}},
				Spec: corev1.PodSpec{Containers: containers}}}}
	}
	operator := corev1.Container{Name: contract.ControlPlaneOperator, Image: "former"}
	for name, c := range map[string]struct {
		there []client.Object
		want  string
	}{
		"none":                  {nil, ""},
		"of this release":       {[]client.Object{running("clusters-demo", "image", operator)}, "former"},
		"of a former release":   {[]client.Object{running("clusters-demo", "before", operator)}, ""},
		"of another cluster":    {[]client.Object{running("clusters-other", "image", operator)}, ""},
		"without its container": {[]client.Object{running("clusters-demo", "image")}, ""},
	} {
		cl := hostedclustertest.At(hostedclustertest.Cluster("demo", "image"))
		cl.Client = surveytest.Client(c.there...).Build()
		if got, err := RunningImage(t.Context(), cl); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	cl := hostedclustertest.At(hostedclustertest.Cluster("demo", "image"))
	cl.Client = surveytest.Client().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	}).Build()
	if _, err := RunningImage(t.Context(), cl); err == nil {
		t.Error("what cannot be read is taken for none: the control plane would restart")
	}
}

// TestEnvironment: what nobody asks for is not written, since a new variable restarts the operators of all clusters.
func TestEnvironment(t *testing.T) {
	hc := hostedclustertest.Cluster("demo", "image")
	names := func(options Options, settings workloads.Settings) map[string]string {
		all := map[string]string{}
		for _, e := range environment(hc, options, "", settings) {
			if _, twice := all[e.Name]; twice {
				t.Errorf("%s is there twice", e.Name)
			}
			all[e.Name] = e.Value
		}
		return all
	}
	plain := names(Options{EtcdBackupMaxCount: contract.DefaultBackupMaxCount}, workloads.Settings{HelperImage: "helper"})
	if plain[contract.OwnReleaseEnv] != "image" || plain[contract.ControlPlaneOperatorImageEnv] != "helper" || len(plain) != 6 {
		t.Errorf("%v", plain)
	}
	all := names(Options{EtcdBackupMaxCount: 7, IngressDomain: "apps.test", MetricsSet: "SRE", FeatureSet: "TechPreviewNoUpgrade"},
		workloads.Settings{User: ptr.To[int64](1001)})
	for name, want := range map[string]string{contract.BackupMaxCountEnv: "7", contract.IngressDomainEnv: "apps.test", contract.MetricsSetEnv: "SRE",
		contract.FeatureSetEnv: "TechPreviewNoUpgrade", contract.SecurityContextUIDEnv: "1001"} {
		if all[name] != want {
			t.Errorf("%s is %q", name, all[name])
		}
	}
	if zero := names(Options{}, workloads.Settings{}); zero[contract.BackupMaxCountEnv] != "" {
		t.Errorf("no backup would stay: %v", zero)
	}
}

// TestRightsOfAnOperator: outside of its control plane's namespace it reads three kinds and changes nothing, and nowhere it may do everything.
func TestRightsOfAnOperator(t *testing.T) {
	for _, kind := range []release.Kind{release.KindKubernetes, release.KindOpenShift} {
		account := Account(kind)
		for _, rule := range account.ClusterRights {
			if slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }) ||
				slices.Contains(rule.Resources, "*") {
				t.Errorf("%s: in every namespace: %v", kind, rule)
			}
		}
		for _, rule := range account.Rights {
			if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Verbs, "impersonate") || slices.Contains(rule.Verbs, "escalate") ||
				slices.Contains(rule.APIGroups, "*") {
				t.Errorf("%s: %v", kind, rule)
			}
		}
	}
}

// TestEmergencyAccessIsTakenAway in the order in which it is given the other way about: no binding is left without its role, and labels say whose it is.
func TestEmergencyAccessIsTakenAway(t *testing.T) {
	objects := EmergencyAccess("clusters-demo", "demo")
	for i := 0; i < len(objects); i += 2 {
		binding, isBinding := objects[i].(*rbacv1.ClusterRoleBinding)
		role, isRole := objects[i+1].(*rbacv1.ClusterRole)
		if !isBinding || !isRole || binding.RoleRef.Name != role.Name || role.Labels[ownerNamespaceLabel] != "clusters-demo" ||
			role.Labels[ownerNameLabel] != "demo" {
			t.Errorf("%T %s, %T %s", objects[i], objects[i].GetName(), objects[i+1], objects[i+1].GetName())
		}
		for _, rule := range role.Rules {
			for _, name := range rule.ResourceNames {
				if !strings.HasPrefix(name, contract.SignerPrefix+"clusters-demo.") {
					t.Errorf("%s reaches signer %s", role.Name, name)
				}
			}
		}
	}
}
