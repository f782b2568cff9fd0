package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// Needs are what the hosted cluster asks of the management cluster.
type Needs struct {
	// Namespace is that of the HostedCluster, Operator that of the operator.
	Namespace, Operator string
	// StorageClass is etcd's; empty means the default one.
	StorageClass string
	// HighlyAvailable: three replicas of each part, in different zones.
	HighlyAvailable bool
}

// What a control plane of a single replica asks for, about; three replicas ask for three times as much.
var (
	neededCPU    = resource.MustParse("4")
	neededMemory = resource.MustParse("8Gi")
)

const (
	replicas = 3
	// defaultClass marks the storage class that claims without one get.
	defaultClass = "storageclass.kubernetes.io/is-default-class"
	operatorName = "operator"
)

// Management looks at everything at once. It writes nothing: whether the person may is asked. The error tells that it could not look.
func Management(ctx context.Context, c client.Client, n Needs) ([]Check, error) {
	looks := []func(context.Context, client.Client, Needs) ([]Check, error){kinds, operator, rights, storage, nodes}
	found := make([][]Check, len(looks))
	all, ctx := errgroup.WithContext(ctx)
	for i, look := range looks {
		all.Go(func() error {
			var err error
			found[i], err = look(ctx, c, n)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, fmt.Errorf("cannot look at the management cluster: %w", err)
	}
	return slices.Concat(found...), nil
}

// kinds are served by the management cluster once the operator is installed.
func kinds(ctx context.Context, c client.Client, n Needs) ([]Check, error) {
	const remedy = "install the operator: `hypershift install --limit-crd-install Azure`"
	var checks []Check
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{
		{"HostedCluster", &hyperv1.HostedClusterList{}}, {"NodePool", &hyperv1.NodePoolList{}},
		{"Machine", clusterapi.NewList(clusterapi.Machine)}, {"AzureMachine", clusterapi.NewList(clusterapi.AzureMachine)},
	} {
		err := c.List(ctx, kind.list, client.InNamespace(n.Namespace), client.Limit(1))
		switch {
		case meta.IsNoMatchError(err):
			checks = append(checks, Verdict("kind "+kind.name, Fail, false, "the management cluster does not know it", remedy))
		case apierrors.IsForbidden(err):
			checks = append(checks, unseen("kind "+kind.name, err)...)
		case err != nil:
			return nil, err
		default:
			checks = append(checks, Verdict("kind "+kind.name, Fail, true, "is served", ""))
		}
	}
	return checks, nil
}

// operator has to run: without it nothing becomes of a HostedCluster.
func operator(ctx context.Context, c client.Client, n Needs) ([]Check, error) {
	const name = "operator"
	deployment := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: n.Operator, Name: operatorName}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		return []Check{Verdict(name, Fail, false, "there is no Deployment "+n.Operator+"/"+operatorName, "install it: `hypershift install`, or name its namespace")}, nil
	case apierrors.IsForbidden(err):
		return unseen(name, err), nil
	case err != nil:
		return nil, err
	}
	wanted, ready := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status.AvailableReplicas
	detail := fmt.Sprintf("%d of %d pods are available", ready, wanted)
	remedy := fmt.Sprintf("`hypershift logs operator`, `kubectl -n %s describe pods`", n.Operator)
	if ready == 0 {
		return []Check{Verdict(name, Fail, false, detail, remedy)}, nil
	}
	return []Check{Verdict(name, Warn, ready >= wanted, detail, remedy)}, nil
}

// rights of the person, as the API server says them.
func rights(ctx context.Context, c client.Client, n Needs) ([]Check, error) {
	var checks []Check
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "hostedclusters", Group: hyperv1.GroupVersion.Group}, {Verb: "create", Resource: "nodepools", Group: hyperv1.GroupVersion.Group},
		{Verb: "patch", Resource: "secrets"}, {Verb: "patch", Resource: "configmaps"},
	} {
		right.Namespace = n.Namespace
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		if err := c.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask for rights: %w", err)
		}
		what := right.Verb + " " + right.Resource
		detail := map[bool]string{true: "you may, in namespace " + n.Namespace, false: strings.TrimSuffix("you may not, in namespace "+n.Namespace+": "+review.Status.Reason, ": ")}[review.Status.Allowed]
		checks = append(checks, Verdict("right to "+what, Fail, review.Status.Allowed, detail, "have an administrator bind you a role with it in that namespace"))
	}
	return checks, nil
}

// storage is where etcd keeps its data.
func storage(ctx context.Context, c client.Client, n Needs) ([]Check, error) {
	const name = "storage class of etcd"
	classes := &storagev1.StorageClassList{}
	if err := c.List(ctx, classes); apierrors.IsForbidden(err) {
		return unseen(name, err), nil
	} else if err != nil {
		return nil, err
	}
	var names, usual []string
	for _, class := range classes.Items {
		names = append(names, class.Name)
		if class.Annotations[defaultClass] == "true" {
			usual = append(usual, class.Name)
		}
	}
	there := "there are: " + strings.Join(names, ", ")
	if len(names) == 0 {
		there = "there is none"
	}
	switch {
	case n.StorageClass != "":
		return []Check{Verdict(name, Fail, slices.Contains(names, n.StorageClass), n.StorageClass+"; "+there, "name one that is there by --etcd-storage-class")}, nil
	case len(usual) == 0:
		return []Check{Verdict(name, Fail, false, "no storage class is the default one; "+there, "annotate one with "+defaultClass+"=true, or name it by --etcd-storage-class")}, nil
	}
	return []Check{Verdict(name, Warn, len(usual) == 1, "the default is "+strings.Join(usual, " and "), "have one default class, or name one by --etcd-storage-class: it is not said which of them is taken")}, nil
}

// nodes have to have room, and for three replicas be in three zones.
func nodes(ctx context.Context, c client.Client, n Needs) ([]Check, error) {
	list, pods := &corev1.NodeList{}, &corev1.PodList{}
	for _, of := range []client.ObjectList{list, pods} {
		if err := c.List(ctx, of); apierrors.IsForbidden(err) {
			return unseen("room for a control plane", err), nil
		} else if err != nil {
			return nil, err
		}
	}
	cpu, memory, zones := room(list.Items, pods.Items)
	factor := int64(1)
	if n.HighlyAvailable {
		factor = replicas
	}
	enough := cpu.MilliValue() >= factor*neededCPU.MilliValue() && memory.Value() >= factor*neededMemory.Value()
	detail := fmt.Sprintf("%.1f CPU and %.1f GiB are not asked for by pods; a control plane asks for about %d and %d", float64(cpu.MilliValue())/1000, float64(memory.Value())/(1<<30), factor*neededCPU.Value(), factor*8)
	checks := []Check{Verdict("room for a control plane", Warn, enough, detail, "add nodes to the management cluster; pods that find no room stay Pending")}
	if n.HighlyAvailable {
		checks = append(checks, Verdict("zones for three replicas", Warn, len(zones) >= replicas, fmt.Sprintf("nodes are in %d zones: %s", len(zones), strings.Join(zones, ", ")),
			"add nodes in other zones, or take --control-plane-availability-policy SingleReplica: replicas without a zone of their own stay Pending"))
	}
	return checks, nil
}

// room is what nodes that take pods have left beside what pods ask for, and the zones of these nodes.
func room(nodes []corev1.Node, pods []corev1.Pod) (cpu, memory resource.Quantity, zones []string) {
	taken := map[string]bool{}
	for i := range nodes {
		node := &nodes[i]
		if node.Spec.Unschedulable || !isReady(node) {
			continue
		}
		taken[node.Name] = true
		cpu.Add(*node.Status.Allocatable.Cpu())
		memory.Add(*node.Status.Allocatable.Memory())
		if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	for i := range pods {
		pod := &pods[i]
		if !taken[pod.Spec.NodeName] || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, container := range pod.Spec.Containers {
			cpu.Sub(*container.Resources.Requests.Cpu())
			memory.Sub(*container.Resources.Requests.Memory())
		}
	}
	slices.Sort(zones)
	return cpu, memory, zones
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
