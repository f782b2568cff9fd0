package controlplane

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// checkDrift edits and deletes what the control plane owns, one object of every kind: the next pass repairs it, the one after writes
// nothing.
func (f *fixture) checkDrift() {
	f.Helper()
	f.edit(&appsv1.Deployment{}, "kube-scheduler", func(obj client.Object) {
		d := obj.(*appsv1.Deployment)
		d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image = ptr.To[int32](7), "quay.io/else"
	})
	f.edit(&appsv1.StatefulSet{}, "etcd", func(obj client.Object) { obj.SetLabels(nil) })
	f.edit(&corev1.ConfigMap{}, "kas-egress-selector-config", func(obj client.Object) { obj.(*corev1.ConfigMap).Data["config.yaml"] = "" })
	f.edit(&corev1.ConfigMap{}, "root-ca", func(obj client.Object) { obj.(*corev1.ConfigMap).Data["ca.crt"] = "" })
	f.edit(&corev1.Secret{}, "admin-kubeconfig", func(obj client.Object) { obj.(*corev1.Secret).Data["kubeconfig"] = nil })
	f.edit(&corev1.Service{}, publish.KonnectivityService, func(obj client.Object) { obj.(*corev1.Service).Spec.Selector["app"] = "else" })
	f.edit(&rbacv1.Role{}, "ignition-server", func(obj client.Object) { obj.(*rbacv1.Role).Rules = nil })
	f.edit(&corev1.ServiceAccount{}, "kube-scheduler", func(obj client.Object) { obj.(*corev1.ServiceAccount).ImagePullSecrets = nil })
	f.remove(&appsv1.Deployment{}, "kube-controller-manager")
	f.remove(&corev1.Service{}, "etcd-client")
	f.remove(&rbacv1.RoleBinding{}, "machine-approver")
	f.remove(&corev1.Secret{}, "localhost-kubeconfig")
	f.pass()

	d, config, secret, service, role, account := &appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Service{}, &rbacv1.Role{}, &corev1.ServiceAccount{}
	f.get(d, "kube-scheduler")
	f.get(secret, "admin-kubeconfig")
	f.get(service, publish.KonnectivityService)
	f.get(role, "ignition-server")
	f.get(account, "kube-scheduler")
	set := &appsv1.StatefulSet{}
	f.get(set, "etcd")
	for what, repaired := range map[string]bool{
		"replicas": *d.Spec.Replicas == 1, "image": d.Spec.Template.Spec.Containers[0].Image == planetest.Images()["hyperkube"], "label": len(set.Labels) > 0,
		"kubeconfig": len(secret.Data["kubeconfig"]) > 0, "selector": service.Spec.Selector["app"] == "kube-apiserver",
		"rules": len(role.Rules) > 0, "pull secret": len(account.ImagePullSecrets) == 1,
	} {
		if !repaired {
			f.Errorf("the %s that somebody changed stays changed", what)
		}
	}
	for _, name := range []string{"kas-egress-selector-config", "root-ca"} {
		f.get(config, name)
		if config.Data["config.yaml"]+config.Data["ca.crt"] == "" {
			f.Errorf("ConfigMap %s that somebody emptied stays empty", name)
		}
	}
	f.get(d, "kube-controller-manager")
	f.get(service, "etcd-client")
	f.get(&rbacv1.RoleBinding{}, "machine-approver")
	f.get(secret, "localhost-kubeconfig")
	f.quiet("after the repair")
}

// quiet makes a pass that has nothing to do.
func (f *fixture) quiet(when string) {
	f.Helper()
	before := f.writes.Load()
	f.pass()
	if made := f.writes.Load() - before; made != 0 {
		f.Errorf("a pass with nothing to do %s makes %d writes", when, made)
	}
}

func (f *fixture) edit(obj client.Object, name string, change func(client.Object)) {
	f.Helper()
	f.get(obj, name)
	change(obj)
	if err := f.client.Update(context.Background(), obj); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) remove(obj client.Object, name string) {
	f.Helper()
	f.get(obj, name)
	if err := f.client.Delete(context.Background(), obj); err != nil {
		f.Fatal(err)
	}
}

// Another process's pass, which remembers nothing, changes nothing that is as it should be.
func TestRepairOutlivesTheProcess(t *testing.T) {
	f := newFixture(t)
	f.hcp = inNamespace("drift")
	f.begin()
	f.publishedPasses()
	f.edit(&appsv1.StatefulSet{}, "etcd", func(obj client.Object) { obj.(*appsv1.StatefulSet).Spec.Replicas = ptr.To[int32](5) })
	versions := f.versions()
	f.reconciler = &Reconciler{
		Client: f.client, Releases: f.reconciler.Releases, Settings: f.reconciler.Settings, IngressDomain: f.reconciler.IngressDomain,
		Certificates: f.reconciler.Certificates, Now: f.reconciler.Now, Guest: f.reconciler.Guest, Probe: f.reconciler.Probe,
	}
	f.pass()
	set := &appsv1.StatefulSet{}
	f.get(set, "etcd")
	if *set.Spec.Replicas != 1 {
		t.Errorf("etcd has %d replicas", *set.Spec.Replicas)
	}
	for name, version := range f.versions() {
		if versions[name] != version {
			t.Errorf("%s was changed by a pass that had no reason to", name)
		}
	}
}

func (f *fixture) versions() map[string]string {
	f.Helper()
	out := map[string]string{}
	deployments, configs, services := &appsv1.DeploymentList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}
	f.list(deployments)
	f.list(configs)
	f.list(services)
	for _, o := range deployments.Items {
		out["Deployment "+o.Name] = o.ResourceVersion
	}
	for _, o := range configs.Items {
		out["ConfigMap "+o.Name] = o.ResourceVersion
	}
	for _, o := range services.Items {
		out["Service "+o.Name] = o.ResourceVersion
	}
	return out
}
