package hostedcluster

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// aUserID is one of those that pods run as where the management cluster chooses none.
var aUserID = regexp.MustCompile(`^(1\d{3}|[2-9]\d{3}|10\d{3}|11000)$`)

// TestLife takes a hosted cluster from creation to deletion on a real API server. The test plays the control-plane operator and
// the namespace controller.
func TestLife(t *testing.T) {
	f := newFixture(t, "life")
	ctx := t.Context()
	f.create(t, f.pullSecret(), f.madeSecret(), f.cluster())

	f.reconcile(t)
	f.checkFirstPass(t)

	f.playControlPlane(t)
	f.reconcile(t)
	f.checkPublished(t)
	f.checkAdmission(t)

	// That the cluster once was available is written down a pass later.
	f.reconcile(t)
	f.writes.Store(0)
	f.reconcile(t)
	if writes := f.writes.Load(); writes != 0 {
		t.Errorf("a converged cluster cost %d writes", writes)
	}

	if err := f.client.Delete(ctx, f.get(t)); err != nil {
		t.Fatal(err)
	}
	f.checkDeletion(t)
}

func (f *fixture) checkFirstPass(t *testing.T) {
	t.Helper()
	hc := f.get(t)
	if !regexp.MustCompile(`^`+f.name+`-[a-z0-9]{5}$`).MatchString(hc.Spec.InfraID) || len(hc.Spec.ClusterID) != 36 {
		t.Errorf("infraID %q, clusterID %q", hc.Spec.InfraID, hc.Spec.ClusterID)
	}
	for _, kind := range []string{
		hyperv1.ReconciliationActive, hyperv1.ReconciliationSucceeded, hyperv1.ValidHostedClusterConfiguration,
		hyperv1.SupportedHostedCluster, hyperv1.ValidReleaseImage, hyperv1.PlatformCredentialsFound, hyperv1.HostedClusterProgressing,
	} {
		if !meta.IsStatusConditionTrue(hc.Status.Conditions, kind) {
			t.Errorf("%s is %+v", kind, meta.FindStatusCondition(hc.Status.Conditions, kind))
		}
	}
	if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable); c == nil || c.Status != metav1.ConditionUnknown || c.Reason != hyperv1.StatusUnknownReason {
		t.Errorf("Available before the control plane reports: %+v", c)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	f.read(t, namespace)
	if namespace.Labels[hyperv1.HostedControlPlaneLabel] != "true" || !aUserID.MatchString(namespace.Annotations[hyperv1.DefaultSecurityContextUID]) {
		t.Errorf("namespace labels %v annotations %v", namespace.Labels, namespace.Annotations)
	}
	for _, name := range []string{component.PullSecret, "sa-signing-key", "azure-ingress-credentials", machines.WebhookCertSecret} {
		f.read(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}})
	}
	hcp := f.controlPlane(t)
	if hcp.Spec.ReleaseImage != f.image || hcp.Spec.InfraID != hc.Spec.InfraID || hcp.Spec.PullSecret.Name != component.PullSecret {
		t.Errorf("HostedControlPlane spec %+v", hcp.Spec)
	}
	f.checkOperator(t)
	f.checkClusterAPI(t, hc.Spec.InfraID)
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.name + "sa-token-issuer-key", Namespace: "clusters"}}
	f.read(t, made)
	if len(made.OwnerReferences) != 0 {
		t.Error("a Secret without the infrastructure's label must not be adopted")
	}
}

func (f *fixture) checkOperator(t *testing.T) {
	t.Helper()
	operator := f.deployment(t, contract.ControlPlaneOperator)
	container := operator.Spec.Template.Spec.Containers[0]
	if container.Image != f.operatorImage || strings.Join(container.Command, " ") != "/usr/bin/control-plane-operator run" {
		t.Errorf("control-plane-operator runs %s %v", container.Image, container.Command)
	}
	env := map[string]string{}
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	if env["OPERATE_ON_RELEASE_IMAGE"] != f.image || !aUserID.MatchString(env["DEFAULT_SECURITY_CONTEXT_UID"]) || env["HTTPS_PROXY"] != "http://proxy.test:8888" {
		t.Errorf("environment %v", env)
	}
	if len(operator.OwnerReferences) != 0 {
		t.Errorf("the operator must outlive the HostedControlPlane, owners %v", operator.OwnerReferences)
	}
}

func (f *fixture) checkClusterAPI(t *testing.T, infraID string) {
	t.Helper()
	cluster := clusterapi.New(clusterapi.Cluster, f.namespace, infraID)
	f.read(t, cluster)
	azure := clusterapi.New(clusterapi.AzureCluster, f.namespace, f.name)
	f.read(t, azure)
	if ready, _, _ := unstructured.NestedBool(azure.Object, "status", "ready"); !ready {
		t.Error("AzureCluster is not ready")
	}
	if vnet, _, _ := unstructured.NestedString(azure.Object, "spec", "networkSpec", "vnet", "name"); vnet != "vnet" {
		t.Errorf("vnet %q", vnet)
	}
	identity := clusterapi.New(clusterapi.AzureClusterIdentity, f.namespace, f.name)
	f.read(t, identity)
	f.deployment(t, contract.ClusterAPI)
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: contract.ClusterAPIProvider}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("capi-provider must wait for the guest's kubeconfig: %v", err)
	}
}

// checkAdmission creates a pod of each workload as its controller would: the namespace enforces the restricted pod security standard.
func (f *fixture) checkAdmission(t *testing.T) {
	t.Helper()
	for _, name := range []string{contract.ControlPlaneOperator, contract.ClusterAPI, contract.ClusterAPIProvider} {
		template := f.deployment(t, name).Spec.Template
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace, Labels: template.Labels}, Spec: template.Spec}
		if err := f.client.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("a pod of %s is refused: %v", name, err)
		}
	}
	bad := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: f.namespace}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "x", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}}}}
	if err := f.client.Create(t.Context(), bad, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("a privileged pod is not refused: %v", err)
	}
}

// playControlPlane does what the control-plane operator does when the API server is up.
func (f *fixture) playControlPlane(t *testing.T) {
	t.Helper()
	for name, key := range map[string]string{"admin-kubeconfig": "kubeconfig", contract.ServiceKubeconfig: "kubeconfig", "kubeadmin-password": "password"} {
		f.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}, Data: map[string][]byte{key: []byte(name)}})
	}
	f.create(t, f.admittedRoute(contract.IgnitionServer, "ignition.apps.test"), f.ignitionDeployment())
	hcp := f.controlPlane(t)
	now := metav1.NewTime(time.Unix(1700000000, 0))
	hcp.Status = hyperv1.HostedControlPlaneStatus{
		Ready: true, Initialized: true,
		ControlPlaneEndpoint: hyperv1.APIEndpoint{Host: "198.18.16.1", Port: 7443},
		KubeConfig:           &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"},
		KubeadminPassword:    &corev1.LocalObjectReference{Name: "kubeadmin-password"},
		VersionStatus: &hyperv1.ClusterVersionStatus{
			Desired: hyperv1.VersionRelease{Version: "4.21.0", Image: f.image},
			History: []hyperv1.UpdateHistory{{
				State: hyperv1.CompletedUpdate, Version: "4.21.0", Image: f.image, StartedTime: now, CompletionTime: ptr.To(now),
			}},
			AvailableUpdates: []hyperv1.VersionRelease{},
		},
		Conditions: []metav1.Condition{{
			Type: hyperv1.HostedControlPlaneAvailable, Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: now,
		}},
	}
	if err := f.client.Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	// The label makes it this cluster's own.
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.name + "sa-token-issuer-key", Namespace: "clusters"}}
	f.read(t, made)
	made.Labels[hyperv1.AutoInfraLabel] = hcp.Spec.InfraID
	if err := f.client.Update(t.Context(), made); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) checkPublished(t *testing.T) {
	t.Helper()
	hc := f.get(t)
	if !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) || !meta.IsStatusConditionFalse(hc.Status.Conditions, hyperv1.HostedClusterProgressing) {
		t.Errorf("conditions %+v", hc.Status.Conditions)
	}
	if hc.Status.KubeConfig == nil || hc.Status.KubeadminPassword == nil {
		t.Fatalf("access %+v %+v", hc.Status.KubeConfig, hc.Status.KubeadminPassword)
	}
	exported := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-admin-kubeconfig", Namespace: "clusters"}}
	f.read(t, exported)
	if string(exported.Data["kubeconfig"]) != "admin-kubeconfig" || !metav1.IsControlledBy(exported, hc) {
		t.Errorf("exported kubeconfig %v", exported)
	}
	if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.IgnitionEndpointAvailable); c.Reason != hyperv1.WaitingForAvailableReason {
		t.Errorf("IgnitionEndpointAvailable %+v", c)
	}
	if hc.Status.ControlPlaneEndpoint.Port != 7443 || hc.Status.IgnitionEndpoint != "ignition.apps.test" {
		t.Errorf("endpoints %+v %q", hc.Status.ControlPlaneEndpoint, hc.Status.IgnitionEndpoint)
	}
	provider := f.deployment(t, contract.ClusterAPIProvider)
	manager := provider.Spec.Template.Spec.Containers[0]
	if !slices.Contains(manager.Args, "--debouncing-timer=1s") || manager.Image != releasetest.Image("azure-cluster-api-controllers") {
		t.Errorf("capi-provider runs %s %v", manager.Image, manager.Args)
	}
	azure := clusterapi.New(clusterapi.AzureCluster, f.namespace, f.name)
	f.read(t, azure)
	if port, _, _ := unstructured.NestedInt64(azure.Object, "spec", "controlPlaneEndpoint", "port"); port != 7443 {
		t.Errorf("AzureCluster endpoint port %d", port)
	}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: f.name + "sa-token-issuer-key", Namespace: "clusters"}}
	f.read(t, made)
	if len(made.OwnerReferences) != 1 {
		t.Error("the Secret made for this infrastructure is not adopted")
	}
}

func (f *fixture) checkDeletion(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for range 10 {
		f.reconcile(t)
		hc := &hyperv1.HostedCluster{}
		err := f.client.Get(ctx, f.request.NamespacedName, hc)
		if apierrors.IsNotFound(err) {
			break
		}
		if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterDestroyed); c == nil || !strings.HasPrefix(c.Reason, "Deleting") || !strings.Contains(c.Message, "since") {
			t.Fatalf("while deleting: %+v", c)
		}
		f.playNamespaceController(t)
	}
	if err := f.client.Get(ctx, f.request.NamespacedName, &hyperv1.HostedCluster{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the HostedCluster is still there: %v", err)
	}
	roles := &rbacv1.ClusterRoleList{}
	if err := f.client.List(ctx, roles); err != nil {
		t.Fatal(err)
	}
	for _, role := range roles.Items {
		if strings.HasPrefix(role.Name, f.namespace) {
			t.Errorf("ClusterRole %s is left", role.Name)
		}
	}
	f.read(t, f.pullSecret())
}

// playNamespaceController empties a terminating namespace as Kubernetes does.
func (f *fixture) playNamespaceController(t *testing.T) {
	t.Helper()
	namespace := &corev1.Namespace{}
	err := f.client.Get(t.Context(), client.ObjectKey{Name: f.namespace}, namespace)
	if err != nil || namespace.DeletionTimestamp.IsZero() {
		return
	}
	namespace.Spec.Finalizers = nil
	if err := f.client.SubResource("finalize").Update(context.Background(), namespace); err != nil {
		t.Fatal(err)
	}
}

func TestGates(t *testing.T) {
	f := newFixture(t, "gates")
	hc := f.cluster()
	hc.Spec.ServiceAccountSigningKey = nil
	f.create(t, hc)
	f.reconcile(t)
	hc = f.get(t)
	c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidReleaseImage)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != hyperv1.SecretNotFoundReason {
		t.Errorf("without a pull secret: %+v", c)
	}
	if err := f.client.Get(t.Context(), client.ObjectKey{Name: f.namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace was made for a cluster that cannot run: %v", err)
	}

	f.create(t, f.pullSecret(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
	f.reconcile(t)
	hc = f.get(t)
	if c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ReconciliationSucceeded); c == nil || !strings.Contains(c.Message, "is not this cluster's") {
		t.Errorf("ReconciliationSucceeded %+v", c)
	}
	if _, err := f.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "clusters", Name: "none"}}); err != nil {
		t.Errorf("an unknown cluster: %v", err)
	}
}
