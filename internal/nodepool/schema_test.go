package nodepool

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/repair"
)

// The API server knows the kinds of Cluster API better than the structs of this package: it must take what the pool writes.
func TestObjectsFitTheirSchemas(t *testing.T) {
	const namespace = "clusters-schemas"
	live, err := client.New(server.Config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	changes := map[string]func(*hyperv1.NodePool, *hyperv1.HostedCluster){
		"plain": func(*hyperv1.NodePool, *hyperv1.HostedCluster) {},
		"on delete, ephemeral disk, limits": func(np *hyperv1.NodePool, hc *hyperv1.HostedCluster) {
			np.Spec.Management.Replace = &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyOnDelete}
			np.Spec.Platform.Azure.OSDisk = hyperv1.AzureNodePoolOSDisk{Persistence: "Ephemeral", EncryptionSetID: "/subscriptions/s/set"}
			np.Spec.Platform.Azure.AvailabilityZone = "1"
			np.Spec.Platform.Azure.Diagnostics = &hyperv1.AzureDiagnostics{StorageAccountType: "Managed"}
			hc.Annotations = map[string]string{hyperv1.MachineHealthCheckMaxUnhealthy: "40%", hyperv1.MachineHealthCheckTimeout: "90s"}
		},
		"in place": func(np *hyperv1.NodePool, _ *hyperv1.HostedCluster) {
			np.Spec.Management = hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeInPlace}
		},
		"surge by share, autoscaling": func(np *hyperv1.NodePool, _ *hyperv1.HostedCluster) {
			np.Spec.Management.Replace.RollingUpdate = &hyperv1.RollingUpdate{MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromInt32(0))}
			np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 0, Max: 3}
			np.Spec.NodeVolumeDetachTimeout = &metav1.Duration{}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			p := &pass{np: nodePool(), hc: hostedCluster(), namespace: namespace, release: payload(), config: newConfig(nil, "4.21.0", "", "", "")}
			change(p.np, p.hc)
			template, made := rendered(t, p)
			if err := kube.ApplyAlways(t.Context(), live, FieldManager, template, made, repair.HealthCheck(t.Context(), p.hc, p.np, p.namespace)); err != nil {
				t.Error(err)
			}
		})
	}
}

// rendered are the template of a pool's machines, and what makes them.
func rendered(t *testing.T, p *pass) (template, maker *unstructured.Unstructured) {
	t.Helper()
	image, err := machineImage(p.np, p.release)
	if err != nil {
		t.Fatal(err)
	}
	if template, err = azureMachineTemplate(p, image); err != nil {
		t.Fatal(err)
	}
	p.template = template.GetName()
	if maker, err = desiredMaker(p); err != nil {
		t.Fatal(err)
	}
	return template, maker
}
