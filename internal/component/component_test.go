package component

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

func plane() *hyperv1.HostedControlPlane {
	return &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters-demo", UID: "u", Annotations: map[string]string{}},
		Spec:       hyperv1.HostedControlPlaneSpec{ReleaseImage: "quay.io/r:1"},
	}
}

func workload(volumes ...corev1.Volume) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "thing"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "quay.io/x@sha256:1"}}, Volumes: volumes}}},
	}
}

func stamped(t *testing.T, hcp *hyperv1.HostedControlPlane, settings Settings, traits Traits) *appsv1.Deployment {
	t.Helper()
	d := workload(SecretVolume("cert", "cert"))
	if err := Stamp(hcp, settings, "thing", traits, d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestStampReplicasAndRollout(t *testing.T) {
	single := plane()
	single.Spec.ControllerAvailabilityPolicy = hyperv1.SingleReplica
	debugged := plane()
	debugged.Annotations[hyperv1.DebugDeploymentsAnnotation] = "other,thing"
	for name, test := range map[string]struct {
		hcp                *hyperv1.HostedControlPlane
		traits             Traits
		replicas           int32
		strategy           appsv1.DeploymentStrategyType
		surge, unavailable string
		apart              bool
	}{
		"operator":                  {plane(), Traits{}, 1, appsv1.RollingUpdateDeploymentStrategyType, "25%", "25%", false},
		"three serving requests":    {plane(), Traits{Replicas: 3, RequestServing: true}, 3, appsv1.RollingUpdateDeploymentStrategyType, "0", "1", true},
		"two":                       {plane(), Traits{Replicas: 2}, 2, appsv1.RollingUpdateDeploymentStrategyType, "1", "0", true},
		"single replica":            {single, Traits{Replicas: 3, RequestServing: true}, 1, appsv1.RollingUpdateDeploymentStrategyType, "25%", "25%", false},
		"scaled down for debugging": {debugged, Traits{}, 0, appsv1.RollingUpdateDeploymentStrategyType, "25%", "25%", false},
		"recreate":                  {plane(), Traits{Recreate: true}, 1, appsv1.RecreateDeploymentStrategyType, "", "", false},
	} {
		d := stamped(t, test.hcp, Settings{}, test.traits)
		if *d.Spec.Replicas != test.replicas || d.Spec.Strategy.Type != test.strategy {
			t.Errorf("%s: %d replicas, %s", name, *d.Spec.Replicas, d.Spec.Strategy.Type)
		}
		if r := d.Spec.Strategy.RollingUpdate; r != nil && (r.MaxSurge.String() != test.surge || r.MaxUnavailable.String() != test.unavailable) {
			t.Errorf("%s: surge %s unavailable %s", name, r.MaxSurge, r.MaxUnavailable)
		}
		if apart := d.Spec.Template.Spec.Affinity.PodAntiAffinity != nil; apart != test.apart {
			t.Errorf("%s: anti-affinity %v", name, apart)
		}
	}
}

func TestStampPodDefaults(t *testing.T) {
	hcp := plane()
	hcp.Annotations[hyperv1.RestartDateAnnotation] = "today"
	hcp.Annotations[hyperv1.ControlPlanePriorityClassAnnotation] = "mine"
	hcp.Annotations[hyperv1.ResourceRequestOverridePrefix+"/thing.main"] = "cpu=2,memory=3Gi"
	hcp.Spec.Tolerations = []corev1.Toleration{{Key: "theirs"}}
	hcp.Spec.NodeSelector = map[string]string{"pool": "infra"}
	hcp.Spec.Labels = map[string]string{"team": "blue", LabelApp: "kube-apiserver", LabelManagementAccess: "true", LabelRequestServing: "true"}
	d := stamped(t, hcp, Settings{Image: "cpo", UID: ptr.To[int64](1001)}, Traits{WaitFor: WaitForAPIServer})
	template, spec := d.Spec.Template, d.Spec.Template.Spec
	c := spec.Containers[0]
	for what, ok := range map[string]bool{
		"labels":        template.Labels[LabelApp] == "thing" && template.Labels[LabelControlPlane] == "clusters-demo",
		"restart date":  template.Annotations[hyperv1.RestartDateAnnotation] == "today",
		"priority":      spec.PriorityClassName == "mine",
		"requests":      c.Resources.Requests.Memory().String() == "3Gi" && c.Resources.Requests.Cpu().String() == "2",
		"read-only":     *c.SecurityContext.ReadOnlyRootFilesystem && c.SecurityContext.Capabilities.Drop[0] == "ALL",
		"tmp":           slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/tmp" }),
		"user":          *spec.SecurityContext.RunAsUser == 1001 && *spec.SecurityContext.FSGroup == 1001 && *spec.SecurityContext.RunAsNonRoot,
		"user's labels": template.Labels["team"] == "blue" && template.Labels[LabelRequestServing] == "",
		"no token":      !*spec.AutomountServiceAccountToken && template.Labels[LabelManagementAccess] == "",
		"pull secret":   spec.ImagePullSecrets[0].Name == PullSecret,
		"secret mode":   *spec.Volumes[0].Secret.DefaultMode == 0o640,
		"tolerations":   len(spec.Tolerations) == 3,
		"node selector": spec.NodeSelector["pool"] == "infra",
		"prober":        spec.InitContainers[0].Name == "availability-prober" && spec.InitContainers[0].Image == "cpo",
		"owner":         d.OwnerReferences[0].UID == "u" && *d.OwnerReferences[0].Controller,
	} {
		if !ok {
			t.Errorf("%s: %+v", what, template)
		}
	}
	hcp.Annotations[hyperv1.ResourceRequestOverridePrefix+"/thing.main"] = "cpu:2"
	if err := Stamp(hcp, Settings{}, "thing", Traits{}, workload()); err == nil {
		t.Error("a malformed request override passes")
	}
}

// A native side-car runs as long as the pod: what the user says about a container's requests holds for it as well.
func TestSideCars(t *testing.T) {
	hcp, d := plane(), workload()
	hcp.Annotations[hyperv1.ResourceRequestOverridePrefix+"/thing.side"] = "cpu=2"
	hcp.Annotations[hyperv1.ResourceRequestOverridePrefix+"/thing.once"] = "cpu=2"
	d.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	prober := AddAvailabilityProber(&d.Spec.Template.Spec, "cpo", WaitForEtcd)
	prober.Name = "once"
	if err := Stamp(hcp, Settings{}, "thing", Traits{}, d); err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	if spec.InitContainers[0].Resources.Requests.Cpu().String() != "2" || spec.InitContainers[1].Resources.Requests.Cpu().String() != "10m" {
		t.Errorf("init containers %+v", spec.InitContainers)
	}
	if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "prober-client" }) {
		t.Error("the prober has no client certificate")
	}
}

func testContext(t *testing.T, objects ...client.Object) *Context {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithStatusSubresource(&hyperv1.ControlPlaneComponent{}).WithObjects(objects...).Build()
	return &Context{
		Context: context.Background(), Client: c, HCP: plane(), Version: "1.0.0", Images: map[string]string{"thing": "quay.io/x@sha256:1"}, Inputs: &Inputs{},
	}
}

func thing(volumes ...corev1.Volume) Component {
	return Component{Name: "thing", ImageKeys: []string{"thing"}, DependsOn: []string{APIServer},
		Objects: func(*Context) ([]client.Object, error) { return []client.Object{workload(volumes...)}, nil }}
}

func TestReconcileWaitsForInputsAndTellsSo(t *testing.T) {
	ctx := testContext(t)
	result, err := Reconcile(ctx, thing(SecretVolume("cert", "cert")))
	if err != nil || result.Ready() || result.Available.Reason != hyperv1.WaitingForDependenciesReason {
		t.Fatalf("%+v, %v", result, err)
	}
	if live, _ := liveWorkload(ctx, thing()); live != nil {
		t.Error("the workload was created without its input")
	}
	entry := &hyperv1.ControlPlaneComponent{}
	if err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: "thing"}, entry); err != nil || len(entry.Status.Conditions) != 2 {
		t.Errorf("record %+v, %v", entry.Status, err)
	}
	ctx.Inputs.Put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cert"}})
	if _, err := Reconcile(ctx, thing(SecretVolume("cert", "cert"))); err != nil {
		t.Fatal(err)
	}
	if live, _ := liveWorkload(ctx, thing()); live == nil {
		t.Error("the workload is missing")
	}
}

func TestReconcileMissingImageRemoves(t *testing.T) {
	ctx := testContext(t)
	if _, err := Reconcile(ctx, thing()); err != nil {
		t.Fatal(err)
	}
	ctx.Images = nil
	result, err := Reconcile(ctx, thing())
	if err != nil || !result.Absent || !slices.Equal(result.MissingImages, []string{"thing"}) {
		t.Fatalf("%+v, %v", result, err)
	}
	if live, _ := liveWorkload(ctx, thing()); live != nil {
		t.Error("the workload is still there")
	}
}

func TestUpgradeWaitsForDependencies(t *testing.T) {
	ctx := testContext(t)
	if _, err := Reconcile(ctx, thing()); err != nil {
		t.Fatal(err)
	}
	ctx.Version = "2.0.0"
	result, err := Reconcile(ctx, thing())
	if err != nil || result.Available.Reason != hyperv1.WaitingForDependenciesReason {
		t.Fatalf("an upgrade did not wait: %+v, %v", result, err)
	}
	server := &hyperv1.ControlPlaneComponent{ObjectMeta: metav1.ObjectMeta{Name: APIServer, Namespace: "clusters-demo"}}
	server.Status.Version = "2.0.0"
	server.Status.Conditions = []metav1.Condition{
		condition(hyperv1.ControlPlaneComponentAvailable, true, "AsExpected", ""), condition(hyperv1.ControlPlaneComponentRolloutComplete, true, "AsExpected", "")}
	if err := ctx.Client.Create(ctx, server); err != nil {
		t.Fatal(err)
	}
	if _, err := Reconcile(ctx, thing()); err != nil {
		t.Fatal(err)
	}
	if live, _ := liveWorkload(ctx, thing()); live.GetAnnotations()[AnnotationRelease] != "2.0.0" {
		t.Error("the upgrade did not go on")
	}
}

func TestConfigHash(t *testing.T) {
	hash := func(objects ...client.Object) string {
		ctx := &Context{HCP: plane(), Inputs: &Inputs{}}
		ctx.Inputs.Put(objects...)
		h, err := ctx.configHash(&corev1.PodSpec{Volumes: []corev1.Volume{ConfigMapVolume("a", "settings"), ConfigMapVolume("b", "client-ca")}}, []string{"client-ca"})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	config := func(name, value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": value}}
	}
	first := hash(config("settings", "1"), config("client-ca", "1"))
	if hash(config("settings", "1"), config("client-ca", "2")) != first {
		t.Error("client-ca, which the API server reloads, restarts it")
	}
	if hash(config("settings", "2"), config("client-ca", "1")) == first {
		t.Error("a changed setting does not restart")
	}
}

func TestConditions(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 2,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
	if available, rollout := DeploymentConditions(d); available.Status != metav1.ConditionTrue || rollout.Status != metav1.ConditionFalse {
		t.Errorf("with an old replica left: %v %v", available, rollout)
	}
	d.Status.Replicas = 2
	if _, rollout := DeploymentConditions(d); rollout.Status != metav1.ConditionTrue {
		t.Errorf("done: %v", rollout)
	}
	s := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3)}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}}
	if available, _ := StatefulSetConditions(s); available.Status != metav1.ConditionFalse {
		t.Error("one of three is a quorum")
	}
	s.Status.ReadyReplicas = 2
	if available, _ := StatefulSetConditions(s); available.Status != metav1.ConditionTrue {
		t.Error("two of three is no quorum")
	}
}

func TestProfilingFollowsTheAnnotation(t *testing.T) {
	hcp := plane()
	hcp.Annotations[hyperv1.DisableProfilingAnnotation] = "kube-scheduler,kube-apiserver"
	if !ProfilingDisabled(hcp, "kube-apiserver") || ProfilingDisabled(hcp, "kube-controller-manager") {
		t.Error("the list of components is not followed")
	}
}
