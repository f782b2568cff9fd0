package autoscaler

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func plane(annotations map[string]string, scaling hyperv1.ClusterAutoscaling) *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters-demo", Annotations: annotations},
		Spec:       hyperv1.HostedControlPlaneSpec{InfraID: "demo-x1", Autoscaling: scaling},
	}
}

func TestEveryFieldOfAutoscalingIsAnArgument(t *testing.T) {
	scaling := hyperv1.ClusterAutoscaling{
		Scaling: "ScaleUpAndScaleDown", MaxNodesTotal: ptr.To[int32](7), MaxPodGracePeriod: ptr.To[int32](60),
		PodPriorityThreshold: ptr.To[int32](-5), MaxNodeProvisionTime: "20m", MaxFreeDifferenceRatioPercent: ptr.To[int32](5),
		Expanders: []string{"Random", "LeastWaste", "Priority"}, BalancingIgnoredLabels: []string{"example.com/rack"},
		ScaleDown: &hyperv1.ScaleDownConfig{
			DelayAfterAddSeconds: ptr.To[int32](10), DelayAfterDeleteSeconds: ptr.To[int32](11), DelayAfterFailureSeconds: ptr.To[int32](12),
			UnneededDurationSeconds: ptr.To[int32](13), UtilizationThresholdPercent: ptr.To[int32](40),
		},
	}
	args := Args(plane(nil, scaling))
	for _, want := range []string{
		"--max-nodes-total=7", "--max-graceful-termination-sec=60", "--expendable-pods-priority-cutoff=-5", "--max-node-provision-time=20m",
		"--max-free-difference-ratio=0.05", "--expander=random,least-waste,priority", "--scale-down-delay-after-add=10s",
		"--scale-down-delay-after-delete=11s", "--scale-down-delay-after-failure=12s", "--scale-down-unneeded-time=13s",
		"--scale-down-utilization-threshold=0.40", "--balancing-ignore-label=example.com/rack",
		"--balancing-ignore-label=hypershift.openshift.io/nodePool",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing from %v", want, args)
		}
	}
	if slices.Contains(args, "--scale-down-enabled=false") {
		t.Error("scaling down is off")
	}
}

func TestDefaultsOfAutoscaling(t *testing.T) {
	args := Args(plane(nil, hyperv1.ClusterAutoscaling{Scaling: "ScaleUpOnly"}))
	for _, want := range []string{"--expander=priority,least-waste", "--scale-down-enabled=false"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing from %v", want, args)
		}
	}
	for _, unset := range []string{"--max-nodes-total=0", "--max-node-provision-time="} {
		if slices.Contains(args, unset) {
			t.Errorf("%s is set", unset)
		}
	}
}

func TestImageAndReplicasFollowAnnotations(t *testing.T) {
	payload, none := map[string]string{Name: "payload"}, map[string]string{"etcd": "etcd"}
	for _, test := range []struct {
		annotations map[string]string
		payload     map[string]string
		image       string
		replicas    int32
	}{
		{nil, payload, "payload", 1},
		{map[string]string{hyperv1.DisableClusterAutoscalerAnnotation: "true"}, payload, "payload", 0},
		{map[string]string{hyperv1.ClusterAutoscalerImageAnnotation: "mine"}, payload, "mine", 1},
		{map[string]string{hyperv1.ClusterAutoscalerImageAnnotation: "mine"}, none, "mine", 1},
	} {
		hcp := plane(test.annotations, hyperv1.ClusterAutoscaling{})
		images := Images(test.payload, hcp)
		if missing := Component().MissingImages(images); len(missing) > 0 {
			t.Errorf("%v: %v is missing", test.annotations, missing)
		}
		d := deployment(&component.Context{HCP: hcp, Images: images})
		if err := component.Stamp(hcp, component.Settings{}, Name, Component().Traits, d); err != nil {
			t.Fatal(err)
		}
		if got := d.Spec.Template.Spec.Containers[0].Image; got != test.image {
			t.Errorf("%v: image %s, want %s", test.annotations, got, test.image)
		}
		if got := *d.Spec.Replicas; got != test.replicas {
			t.Errorf("%v: %d replicas, want %d", test.annotations, got, test.replicas)
		}
		if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
			t.Errorf("strategy %s", d.Spec.Strategy.Type)
		}
	}
}

// Without the key, and without an image of the user's, there is no autoscaler.
func TestNoAutoscalerWithoutItsImage(t *testing.T) {
	payload := map[string]string{"etcd": "etcd"}
	if missing := Component().MissingImages(Images(payload, plane(nil, hyperv1.ClusterAutoscaling{}))); !slices.Equal(missing, []string{Name}) {
		t.Errorf("%v is missing", missing)
	}
	Images(payload, plane(map[string]string{hyperv1.ClusterAutoscalerImageAnnotation: "mine"}, hyperv1.ClusterAutoscaling{}))
	if len(payload) != 1 {
		t.Errorf("the payload has become %v", payload)
	}
}

// The image that the autoscaler's own project publishes has the program elsewhere than OpenShift's.
func TestProgramIsWhereTheImageHasIt(t *testing.T) {
	for kind, want := range map[release.Kind]string{release.KindKubernetes: "/cluster-autoscaler", release.KindOpenShift: "/usr/bin/cluster-autoscaler"} {
		d := deployment(&component.Context{HCP: plane(nil, hyperv1.ClusterAutoscaling{}), Payload: kind, Images: map[string]string{Name: "x"}})
		if got := d.Spec.Template.Spec.Containers[0].Command[0]; got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
