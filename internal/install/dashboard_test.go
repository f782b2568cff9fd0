package install

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// TestDashboardHasNoRights: nobody is bound to the role of the dashboard, the dashboard itself to none, the role only reads and reads no Secret, and
// what serves is TLS with a certificate that is given.
func TestDashboardHasNoRights(t *testing.T) {
	o := minimal()
	o.Dashboard = true
	for _, obj := range o.Objects() {
		var subjects []rbacv1.Subject
		role := ""
		switch obj := obj.(type) {
		case *rbacv1.ClusterRoleBinding:
			subjects, role = obj.Subjects, obj.RoleRef.Name
		case *rbacv1.RoleBinding:
			subjects, role = obj.Subjects, obj.RoleRef.Name
		}
		for _, subject := range subjects {
			if subject.Name == dashboardName || role == dashboardViewer {
				t.Errorf("%s is bound to %s", subject.Name, role)
			}
		}
	}
	for _, rule := range find[*rbacv1.ClusterRole](t, o, dashboardViewer).Rules {
		for _, verb := range rule.Verbs {
			if verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("a viewer may %s %v", verb, rule.Resources)
			}
		}
		for _, resource := range rule.Resources {
			if resource == "secrets" || resource == "*" && rule.APIGroups[0] == "" {
				t.Errorf("a viewer reads %s of %v", resource, rule.APIGroups)
			}
		}
	}
	service := find[*corev1.Service](t, o, dashboardName)
	pod := find[*appsv1.Deployment](t, o, dashboardName).Spec.Template.Spec
	if service.Annotations["service.beta.openshift.io/serving-cert-secret-name"] != pod.Volumes[0].Secret.SecretName {
		t.Errorf("OpenShift makes %v, and the pod has %+v", service.Annotations, pod.Volumes)
	}
	container := pod.Containers[0]
	if !strings.Contains(strings.Join(container.Args, " "), "--cert-dir="+container.VolumeMounts[0].MountPath) || container.ReadinessProbe.HTTPGet.Scheme != corev1.URISchemeHTTPS || *container.SecurityContext.RunAsNonRoot != true {
		t.Errorf("%+v", container)
	}
}
