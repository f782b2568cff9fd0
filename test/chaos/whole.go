package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// expected are the conditions of a HostedCluster for which nothing goes wrong.
var expected = map[string]metav1.ConditionStatus{
	hyperv1.HostedClusterAvailable: metav1.ConditionTrue, hyperv1.HostedClusterDegraded: metav1.ConditionFalse, hyperv1.HostedClusterProgressing: metav1.ConditionFalse,
	hyperv1.EtcdAvailable: metav1.ConditionTrue, hyperv1.KubeAPIServerAvailable: metav1.ConditionTrue, hyperv1.InfrastructureReady: metav1.ConditionTrue,
	hyperv1.IgnitionEndpointAvailable: metav1.ConditionTrue, hyperv1.ReconciliationSucceeded: metav1.ConditionTrue,
	hyperv1.ClusterVersionAvailable: metav1.ConditionTrue, hyperv1.ClusterVersionProgressing: metav1.ConditionFalse,
	hyperv1.DataPlaneConnectionAvailable: metav1.ConditionTrue, hyperv1.ControlPlaneConnectionAvailable: metav1.ConditionTrue,
}

// finding is one thing that a status tells, beside what is there.
type finding struct {
	// What is told of, what the status says of it, and what is there.
	What, Says, Is string
	// Wrong is that the status is not the one of a cluster without faults, or that it is not true.
	Wrong bool
}

// state is what the management cluster has of one hosted cluster, and the nodes that the hosted cluster has.
type state struct {
	cluster    hyperv1.HostedCluster
	pools      hyperv1.NodePoolList
	components hyperv1.ControlPlaneComponentList
	workloads  []workload
	pods       corev1.PodList
	nodes      corev1.NodeList
}

// workload is a Deployment or StatefulSet of the control plane.
type workload struct {
	name  string
	whole bool
	ready string
}

// findings compares every status with what is there.
func (s *state) findings() []finding {
	return append(append(s.ofCluster(), s.ofComponents()...), s.ofPools()...)
}

// ofCluster judges the conditions of the HostedCluster. A condition that tells of an earlier generation counts as wrong.
func (s *state) ofCluster() []finding {
	var all []finding
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		says, is := "absent", "nothing to compare with"
		c := meta.FindStatusCondition(s.cluster.Status.Conditions, name)
		wrong := c == nil || c.Status != expected[name] || c.ObservedGeneration != s.cluster.Generation
		if c != nil {
			says = fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
		}
		if component, ok := map[string]string{hyperv1.EtcdAvailable: "etcd", hyperv1.KubeAPIServerAvailable: "kube-apiserver"}[name]; ok {
			w := s.workload(component)
			is, wrong = w.ready, wrong || !w.whole
		}
		all = append(all, finding{"HostedCluster: " + name, says, is, wrong})
	}
	// A recovery that has ended may still be told of, but none may be under way.
	if c := meta.FindStatusCondition(s.cluster.Status.Conditions, hyperv1.EtcdRecoveryActive); c != nil {
		all = append(all, finding{"HostedCluster: " + hyperv1.EtcdRecoveryActive, string(c.Status) + " " + c.Message, "", c.Status == metav1.ConditionTrue})
	}
	return all
}

// ofComponents judges each ControlPlaneComponent by its workload, and the pods that no component tells of.
func (s *state) ofComponents() []finding {
	var all []finding
	for i := range s.components.Items {
		c := &s.components.Items[i]
		available := meta.IsStatusConditionTrue(c.Status.Conditions, "Available")
		rolled := meta.IsStatusConditionTrue(c.Status.Conditions, "RolloutComplete")
		w := s.workload(c.Name)
		all = append(all, finding{"ControlPlaneComponent " + c.Name, fmt.Sprintf("Available %t, RolloutComplete %t", available, rolled), w.ready, !available || !rolled || !w.whole})
	}
	for i := range s.pods.Items {
		if pod := &s.pods.Items[i]; !done(pod) && !podReady(pod) {
			all = append(all, finding{"pod " + pod.Name, string(pod.Status.Phase), "not Ready", true})
		}
	}
	return all
}

// ofPools judges the NodePools by the nodes of the hosted cluster.
func (s *state) ofPools() []finding {
	var all []finding
	wanted := 0
	for i := range s.pools.Items {
		pool := &s.pools.Items[i]
		if pool.Spec.ClusterName != s.cluster.Name {
			continue
		}
		wanted += int(ptr.Deref(pool.Spec.Replicas, pool.Status.Replicas))
		says := ""
		wrong := false
		for _, name := range []string{hyperv1.NodePoolReady, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy} {
			status := corev1.ConditionUnknown
			for _, c := range pool.Status.Conditions {
				if c.Type == name {
					status = c.Status
				}
			}
			says += fmt.Sprintf("%s %s, ", name, status)
			wrong = wrong || status != corev1.ConditionTrue
		}
		all = append(all, finding{"NodePool " + pool.Name, says + fmt.Sprintf("%d replicas", pool.Status.Replicas), "", wrong})
	}
	ready := 0
	for i := range s.nodes.Items {
		if nodeReady(&s.nodes.Items[i]) {
			ready++
		}
	}
	return append(all, finding{"nodes", fmt.Sprintf("%d wanted", wanted), fmt.Sprintf("%d of %d Ready", ready, len(s.nodes.Items)), ready != wanted || ready != len(s.nodes.Items)})
}

// workload finds one by the name of its component. A component without one, such as a set of objects, is whole.
func (s *state) workload(name string) workload {
	for _, w := range s.workloads {
		if w.name == name {
			return w
		}
	}
	return workload{name: name, whole: true, ready: "no workload"}
}

// wrong are the findings that are wrong, as one error.
func wrong(all []finding) error {
	var errs []error
	for _, f := range all {
		if f.Wrong {
			errs = append(errs, fmt.Errorf("%s says %q, is %q", f.What, f.Says, f.Is))
		}
	}
	return errors.Join(errs...)
}

// whole returns what every status says beside what is there once nothing is wrong, or what is wrong when the time for recovery is over.
func whole(ctx context.Context, o options, key client.ObjectKey, plane string) ([]finding, error) {
	management, err := objectsOf(o.management)
	if err != nil {
		return nil, err
	}
	guest, err := objectsOf(o.guest)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	var all []finding
	err = retried(limited, func(ctx context.Context) error {
		s := &state{}
		if err := s.read(ctx, management, guest, key, plane); err != nil {
			return err
		}
		all = s.findings()
		return wrong(all)
	})
	return all, err
}

func (s *state) read(ctx context.Context, management, guest client.Client, key client.ObjectKey, plane string) error {
	if err := management.Get(ctx, key, &s.cluster); err != nil {
		return fmt.Errorf("read HostedCluster %s: %w", key, err)
	}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, one := range []struct {
		list      client.ObjectList
		namespace string
	}{{&s.pools, key.Namespace}, {&s.components, plane}, {deployments, plane}, {sets, plane}, {&s.pods, plane}} {
		if err := management.List(ctx, one.list, client.InNamespace(one.namespace)); err != nil {
			return fmt.Errorf("list %T in %s: %w", one.list, one.namespace, err)
		}
	}
	if err := guest.List(ctx, &s.nodes); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		s.add(d.Name, d.Generation == d.Status.ObservedGeneration, ptr.Deref(d.Spec.Replicas, 1), d.Status.ReadyReplicas, d.Status.UpdatedReplicas)
	}
	for i := range sets.Items {
		d := &sets.Items[i]
		s.add(d.Name, d.Generation == d.Status.ObservedGeneration, ptr.Deref(d.Spec.Replicas, 1), d.Status.ReadyReplicas, d.Status.UpdatedReplicas)
	}
	return nil
}

func (s *state) add(name string, current bool, wanted, ready, updated int32) {
	s.workloads = append(s.workloads, workload{name, current && wanted == ready && wanted == updated, fmt.Sprintf("%d of %d Ready, %d current", ready, wanted, updated)})
}

// objectsOf is a client for the kinds that are compared.
func objectsOf(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return client.New(config, client.Options{Scheme: scheme})
}

func done(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func nodeReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
