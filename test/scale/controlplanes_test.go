package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

const (
	// What a control plane of the sandbox keeps in its namespace beside what the operator reads.
	foreignSecrets    = 40
	foreignSecretSize = 4 << 10
	foreignConfigMaps = 12
	foreignConfigSize = 2 << 10

	foreignDeployments    = 12
	foreignDeploymentSize = 4 << 10

	simulationWorkers = 8
	clusterAPI        = "cluster.x-k8s.io/v1beta2"
)

// simulation stands in for the control planes and for Cluster API: what they would report is there as soon as they are asked for.
type simulation struct {
	client.Client
	image string
}

func (s *simulation) setUp(mgr ctrl.Manager) error {
	options := controller.Options{MaxConcurrentReconciles: simulationWorkers, SkipNameValidation: ptr.To(true)}
	deployments := &unstructured.Unstructured{}
	deployments.SetAPIVersion(clusterAPI)
	deployments.SetKind("MachineDeployment")
	return errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("control-planes").For(&hyperv1.HostedControlPlane{}).WithOptions(options).
			Complete(reconcile.Func(s.controlPlane)),
		ctrl.NewControllerManagedBy(mgr).Named("machines").For(deployments).WithOptions(options).
			Complete(reconcile.Func(s.machines)))
}

// controlPlane reports a control plane as available at once.
func (s *simulation) controlPlane(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := s.Get(ctx, request.NamespacedName, hcp); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if hcp.Status.Ready {
		return reconcile.Result{}, nil
	}
	objects, err := inside(hcp.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, obj := range objects {
		if err := s.create(ctx, obj); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := s.runOperator(ctx, hcp.Namespace); err != nil {
		return reconcile.Result{}, err
	}
	hcp.Status = s.available()
	return reconcile.Result{}, s.Status().Update(ctx, hcp)
}

// runOperator lets the pod be ready whose word the simulation speaks.
func (s *simulation) runOperator(ctx context.Context, namespace string) error {
	operator := &appsv1.Deployment{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "control-plane-operator"}, operator); err != nil {
		return fmt.Errorf("the control-plane-operator is not there yet: %w", err)
	}
	operator.Status.Replicas, operator.Status.ReadyReplicas = 1, 1
	if err := s.Status().Update(ctx, operator); err != nil {
		return fmt.Errorf("report the control-plane-operator: %w", err)
	}
	return nil
}

func (s *simulation) available() hyperv1.HostedControlPlaneStatus {
	now := metav1.Now()
	status := hyperv1.HostedControlPlaneStatus{
		Ready: true, Initialized: true,
		ControlPlaneEndpoint: hyperv1.APIEndpoint{Host: "198.18.16.1", Port: 7443},
		KubeConfig:           &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"},
		VersionStatus: &hyperv1.ClusterVersionStatus{
			Desired:          hyperv1.VersionRelease{Version: release, Image: s.image},
			History:          []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: release, Image: s.image, StartedTime: now, CompletionTime: &now}},
			AvailableUpdates: []hyperv1.VersionRelease{},
		},
	}
	for _, kind := range []string{
		hyperv1.HostedControlPlaneAvailable, hyperv1.InfrastructureReady, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable,
		hyperv1.ExternalDNSReachable, hyperv1.ValidReleaseInfo, hyperv1.ValidHostedControlPlaneConfig, hyperv1.ClusterVersionSucceeding,
		hyperv1.ClusterVersionAvailable, hyperv1.ClusterVersionReleaseAccepted, hyperv1.ConfigOperatorReconcileSucceeded,
		hyperv1.DataPlaneConnectionAvailable, hyperv1.ControlPlaneConnectionAvailable,
	} {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "Simulated.", LastTransitionTime: now,
		})
	}
	return status
}

// inside is what a control plane makes in its namespace and the operator reads.
func inside(namespace string) ([]client.Object, error) {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	route := object("route.openshift.io/v1", "Route", namespace, "ignition-server")
	route.Object["spec"] = map[string]any{"to": map[string]any{"kind": "Service", "name": "ignition-server"}}
	route.Object["status"] = map[string]any{"ingress": []any{map[string]any{
		"host": "ignition-" + namespace + ".apps.test", "conditions": []any{map[string]any{"type": "Admitted", "status": "True"}},
	}}}
	server := deployment(at("ignition-server"), "serve")
	server.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "Simulated"}}
	apiServer := deployment(at("kube-apiserver"), "serve")
	apiServer.Status.Replicas, apiServer.Status.ReadyReplicas = 1, 1
	etcd := &appsv1.StatefulSet{ObjectMeta: at("etcd"), Spec: appsv1.StatefulSetSpec{Selector: apiServer.Spec.Selector, Template: apiServer.Spec.Template}}
	etcd.Status.Replicas, etcd.Status.ReadyReplicas = 1, 1
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: at("admin-kubeconfig"), Data: map[string][]byte{"kubeconfig": []byte("simulated")}},
		&corev1.Secret{ObjectMeta: at("ignition-server-ca-cert"), Data: map[string][]byte{corev1.TLSCertKey: []byte("simulated")}},
		route, server, apiServer, etcd,
	}
	core, err := ignition.CoreConfigMaps(namespace, "ssh-ed25519 AAAA", false, nil)
	if err != nil {
		return nil, fmt.Errorf("the configurations of every node: %w", err)
	}
	for _, configMap := range core {
		objects = append(objects, configMap)
	}
	return objects, nil
}

// foreign is what else a control plane makes in its namespace: the operator sees it and has no business with it.
func foreign(hcp *hyperv1.HostedControlPlane) []client.Object {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: hcp.Namespace, Name: name} }
	half := []byte(strings.Repeat("x", foreignSecretSize/2))
	var objects []client.Object
	for i := range foreignSecrets {
		objects = append(objects, &corev1.Secret{
			ObjectMeta: at(fmt.Sprintf("certificate-%d", i)), Data: map[string][]byte{corev1.TLSCertKey: half, corev1.TLSPrivateKeyKey: half},
		})
	}
	for i := range foreignConfigMaps {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: at(fmt.Sprintf("config-%d", i)), Data: map[string]string{"config": strings.Repeat("x", foreignConfigSize)}})
	}
	for i := range foreignDeployments {
		name := fmt.Sprintf("component-%d", i)
		objects = append(objects, deployment(at(name), strings.Repeat("x", foreignDeploymentSize)))
	}
	for _, obj := range objects {
		component.Own(hcp, obj)
	}
	return objects
}

func deployment(meta metav1.ObjectMeta, argument string) *appsv1.Deployment {
	made := &appsv1.Deployment{ObjectMeta: meta}
	made.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": meta.Name}}
	made.Spec.Template.Labels = made.Spec.Selector.MatchLabels
	made.Spec.Template.Spec.Containers = []corev1.Container{{Name: meta.Name, Image: "quay.io/simulated", Args: []string{argument}}}
	return made
}

// create creates an object and then its status, unless it is there.
func (s *simulation) create(ctx context.Context, obj client.Object) error {
	reported, _ := obj.DeepCopyObject().(client.Object)
	err := s.Create(ctx, obj)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %T %s: %w", obj, obj.GetName(), err)
	}
	hasStatus := false
	switch obj.(type) {
	case *appsv1.Deployment, *appsv1.StatefulSet:
		hasStatus = true
	}
	if u, ok := reported.(*unstructured.Unstructured); ok {
		_, hasStatus = u.Object["status"]
	}
	if !hasStatus {
		return nil
	}
	reported.SetResourceVersion(obj.GetResourceVersion())
	if err := s.Status().Update(ctx, reported); err != nil {
		return fmt.Errorf("report %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

// machines rolls a MachineDeployment out: its Machines are there and have healthy nodes, and former ones are not.
func (s *simulation) machines(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	deployment := object(clusterAPI, "MachineDeployment", request.Namespace, request.Name)
	if err := s.Get(ctx, request.NamespacedName, deployment); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	observed, _, _ := unstructured.NestedInt64(deployment.Object, "status", "observedGeneration")
	if observed == deployment.GetGeneration() {
		return reconcile.Result{}, nil
	}
	replicas, _, err := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	if err != nil {
		return reconcile.Result{}, err
	}
	present := map[string]bool{}
	for i := range replicas {
		m := machine(deployment, i)
		present[m.GetName()] = true
		if err := errors.Join(s.create(ctx, azureMachine(deployment, m.GetName())), s.create(ctx, m)); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := s.removeFormer(ctx, deployment, present); err != nil {
		return reconcile.Result{}, err
	}
	deployment.Object["status"] = map[string]any{
		"observedGeneration": deployment.GetGeneration(), "replicas": replicas, "availableReplicas": replicas, "upToDateReplicas": replicas,
		"conditions": []any{good("Available")},
	}
	return reconcile.Result{}, s.Status().Update(ctx, deployment)
}

func (s *simulation) removeFormer(ctx context.Context, deployment *unstructured.Unstructured, present map[string]bool) error {
	machines := &unstructured.UnstructuredList{}
	machines.SetAPIVersion(clusterAPI)
	machines.SetKind("MachineList")
	if err := s.List(ctx, machines, client.InNamespace(deployment.GetNamespace())); err != nil {
		return err
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		if present[m.GetName()] || m.GetAnnotations()[hyperv1.NodePoolAnnotation] != deployment.GetAnnotations()[hyperv1.NodePoolAnnotation] {
			continue
		}
		if err := s.Delete(ctx, m); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// azureMachine is what a Machine of the deployment refers to; it tells the template that it was made of.
func azureMachine(deployment *unstructured.Unstructured, name string) *unstructured.Unstructured {
	m := object("infrastructure.cluster.x-k8s.io/v1beta1", "AzureMachine", deployment.GetNamespace(), name)
	template, _, _ := unstructured.NestedString(deployment.Object, "spec", "template", "spec", "infrastructureRef", "name")
	m.SetAnnotations(map[string]string{"cluster.x-k8s.io/cloned-from-name": template})
	m.Object["spec"] = map[string]any{"vmSize": "Standard_D4s_v3", "osDisk": map[string]any{"osType": "Linux"}, "sshPublicKey": ""}
	return m
}

// machine is named after all that makes another one of it.
func machine(deployment *unstructured.Unstructured, index int64) *unstructured.Unstructured {
	data, _, _ := unstructured.NestedString(deployment.Object, "spec", "template", "spec", "bootstrap", "dataSecretName")
	from, _, _ := unstructured.NestedString(deployment.Object, "spec", "template", "spec", "infrastructureRef", "name")
	m := object(clusterAPI, "Machine", deployment.GetNamespace(), fmt.Sprintf("%s-%s-%s-%d", deployment.GetName(), data[max(0, len(data)-8):], from[max(0, len(from)-8):], index))
	labels, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "annotations")
	m.SetLabels(labels)
	m.SetAnnotations(annotations)
	template, _, _ := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	_ = unstructured.SetNestedField(template, "AzureMachine", "infrastructureRef", "kind")
	_ = unstructured.SetNestedField(template, m.GetName(), "infrastructureRef", "name")
	m.Object["spec"] = template
	m.Object["status"] = map[string]any{
		"phase": "Running", "nodeRef": map[string]any{"name": m.GetName()},
		"nodeInfo": map[string]any{
			"machineID": "m", "systemUUID": "s", "bootID": "b", "kernelVersion": "6.1", "osImage": "Simulated", "containerRuntimeVersion": "containerd://2",
			"kubeletVersion": "v1.34.2", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
		},
		"conditions": []any{good("Ready"), good("InfrastructureReady"), good("NodeHealthy"), good("NodeReady")},
	}
	return m
}

func good(kind string) map[string]any {
	return map[string]any{
		"type": kind, "status": "True", "reason": "Simulated", "message": "", "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}
