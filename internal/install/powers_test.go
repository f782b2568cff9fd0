package install

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// tenancy is a management cluster with a tenant, who may do everything with HostedClusters and NodePools of a namespace, and somebody
// privileged, who may do the same and holds the role of all powers.
type tenancy struct {
	*testing.T
	tenant, privileged client.Client
}

func newTenancy(t *testing.T, o *Options) *tenancy {
	config := kubetest.Start(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) client.Client {
		own := rest.CopyConfig(config)
		if user != "" {
			own.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		}
		c, err := client.New(own, client.Options{Scheme: scheme})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	admin := as("")
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
	}
	objs := append([]client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme"}},
		clusterRole("tenants", []rbacv1.PolicyRule{rbac.Rule(hyperv1.GroupVersion.Group, rbac.All, "hostedclusters", "nodepools")}),
		clusterRoleBinding("tenants", user("tenant"), user("privileged")),
		clusterRoleBinding(privilegedName, user("privileged")),
	}, o.admission()...)
	for _, obj := range objs {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	w := &tenancy{t, as("tenant"), as("privileged")}
	// The API server enforces a policy a moment after it has it.
	probe := hostedCluster("probe")
	probe.Annotations = map[string]string{hyperv1.EtcdPriorityClassAnnotation: "system-node-critical"}
	for deadline := time.Now().Add(30 * time.Second); w.tenant.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the policy of HostedClusters is not enforced after 30 s")
		}
	}
	pool := nodePool("probe")
	pool.Annotations = map[string]string{hyperv1.HAProxyImageAnnotation: "x"}
	for deadline := time.Now().Add(30 * time.Second); w.tenant.Create(t.Context(), pool.DeepCopy(), client.DryRunAll) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the policy of NodePools is not enforced after 30 s")
		}
	}
	return w
}

func hostedCluster(name string) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name}}
	hc.Spec.Release.Image = "quay.io/releases/ocp:4.21.0"
	hc.Spec.PullSecret.Name, hc.Spec.SSHKey.Name = "pull", "ssh"
	hc.Spec.Platform.Type = hyperv1.NonePlatform
	hc.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}}
	hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{}
	for _, service := range []hyperv1.ServiceType{hyperv1.APIServer, hyperv1.OAuthServer, hyperv1.Konnectivity, hyperv1.Ignition} {
		hc.Spec.Services = append(hc.Spec.Services, hyperv1.ServicePublishingStrategyMapping{
			Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route},
		})
	}
	hc.Spec.Etcd.ManagementType = hyperv1.Managed
	hc.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}
	return hc
}

func nodePool(name string) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: name}}
	np.Spec.ClusterName, np.Spec.Release.Image = "prod", "quay.io/releases/ocp:4.21.0"
	np.Spec.Platform.Type, np.Spec.Management.UpgradeType = hyperv1.NonePlatform, hyperv1.UpgradeTypeReplace
	np.Spec.Replicas = new(int32(1))
	return np
}

// refused: the attack is refused with the name of what it sets, and who holds the power does the same.
func (w *tenancy) refused(ctx context.Context, what string, attack func(c client.Client) error) {
	w.Helper()
	if err := attack(w.tenant); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), what) {
		w.Errorf("the tenant sets %s: %v", what, err)
	}
	if err := attack(w.privileged); err != nil {
		w.Errorf("who has the power sets %s: %v", what, err)
	}
}

// TestPowers plays a tenant who reaches for the management cluster with annotations and fields of objects of the tenant's own.
func TestPowers(t *testing.T) {
	w := newTenancy(t, &Options{})
	ctx := t.Context()
	for resource, list := range powers {
		for _, p := range list {
			for _, annotation := range p.annotations {
				w.refused(ctx, annotation, func(c client.Client) error {
					var obj client.Object = hostedCluster("attack")
					if resource == "nodepools" {
						obj = nodePool("attack")
					}
					obj.SetAnnotations(map[string]string{annotation: "privileged"})
					return c.Create(ctx, obj, client.DryRunAll)
				})
			}
		}
	}
	placed := map[string]func(*hyperv1.HostedCluster){
		"spec.nodeSelector": func(hc *hyperv1.HostedCluster) {
			hc.Spec.NodeSelector = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		},
		"spec.tolerations": func(hc *hyperv1.HostedCluster) {
			hc.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		},
	}
	for field, place := range placed {
		w.refused(ctx, field, func(c client.Client) error {
			hc := hostedCluster("attack")
			place(hc)
			return c.Create(ctx, hc, client.DryRunAll)
		})
	}
	if err := w.tenant.Create(ctx, nodePool("plain")); err != nil {
		t.Errorf("a plain NodePool: %v", err)
	}

	// What somebody else set is no obstacle to other changes, and cannot be changed or taken away.
	hc := hostedCluster("given")
	hc.Annotations = map[string]string{hyperv1.EtcdPriorityClassAnnotation: "hypershift-etcd"}
	hc.Spec.NodeSelector = map[string]string{"pool": "control-planes"}
	if err := w.privileged.Create(ctx, hc); err != nil {
		t.Fatal(err)
	}
	update := func(change func(*hyperv1.HostedCluster)) func(client.Client) error {
		return func(c client.Client) error {
			changed := hc.DeepCopy()
			change(changed)
			return c.Patch(ctx, changed, client.MergeFrom(hc), client.DryRunAll)
		}
	}
	if err := update(func(hc *hyperv1.HostedCluster) {
		hc.Annotations["note"] = "x"
		hc.Spec.Release.Image = "quay.io/releases/ocp:4.21.1"
	})(w.tenant); err != nil {
		t.Errorf("another change: %v", err)
	}
	w.refused(ctx, hyperv1.EtcdPriorityClassAnnotation, update(func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.EtcdPriorityClassAnnotation) }))
	w.refused(ctx, "spec.nodeSelector", update(func(hc *hyperv1.HostedCluster) { hc.Spec.NodeSelector = nil }))
	if err := w.tenant.Delete(ctx, hc); err != nil {
		t.Errorf("deletion: %v", err)
	}
}

// TestReleaseRegistries: a release is code with the rights of a control plane.
func TestReleaseRegistries(t *testing.T) {
	w := newTenancy(t, &Options{ReleaseRegistries: []string{"quay.io/releases", "registry.example.com:5000/"}})
	for image, ok := range map[string]bool{
		"quay.io/releases/ocp:4.21.0":              true,
		"quay.io/releases:4.21.0":                  true,
		"quay.io/releases@sha256:1":                true,
		"registry.example.com:5000/any/ocp:4.21.0": true,
		"quay.io/releases-of-mine/ocp:4.21.0":      false,
		"quay.io/other/ocp:4.21.0":                 false,
		"registry.example.com/any/ocp:4.21.0":      false,
		"evil.example.com/quay.io/releases/ocp:1":  false,
	} {
		hc := hostedCluster("attack")
		hc.Spec.Release.Image = image
		pool := nodePool("attack")
		pool.Spec.Release.Image = image
		split := hostedCluster("attack")
		split.Spec.ControlPlaneRelease = &hyperv1.Release{Image: image}
		for _, obj := range []client.Object{hc, pool, split} {
			err := w.tenant.Create(t.Context(), obj.DeepCopyObject().(client.Object), client.DryRunAll)
			if ok && err != nil || !ok && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "allows for releases")) {
				t.Errorf("%T with %s: %v", obj, image, err)
			}
			if err := w.privileged.Create(t.Context(), obj, client.DryRunAll); err != nil {
				t.Errorf("who may use any release, %T with %s: %v", obj, image, err)
			}
		}
	}
}
