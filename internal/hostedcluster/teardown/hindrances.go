package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// drainPatience is how long a machine may take to lose its pods before a person is told.
	drainPatience = 30 * time.Second
	// machineDeleting is the condition in which Cluster API says what the deletion of a Machine waits for.
	machineDeleting = "Deleting"
)

// remedies for what Azure answers to a deletion, by the code that the answer has in it. The first that fits is taken.
var remedies = []struct {
	codes  []string
	remedy string
}{
	{[]string{"AADSTS"}, "make the identity and its federated credential again (`hypershift create iam azure` with the same infrastructure ID and issuer)"},
	{[]string{"AuthorizationFailed"}, "give the identity that the answer names its role on that scope again (`az role assignment create`, or `hypershift create infra azure --assign-identity-roles`); where its resource group is gone, so are its roles, and there is nothing to repair"},
	{[]string{"ReadOnlyDisabledSubscription", "SubscriptionNotFound", "SubscriptionDisabled"}, "have the owner of the subscription enable it (`az account list --all` prints its state)"},
	{[]string{"ScopeLocked"}, "take the lock off (`az lock list`, `az lock delete`)"},
}

// remedyOf says what a person does about Azure's words; empty where nothing particular is known.
func remedyOf(words string) string {
	for _, known := range remedies {
		if slices.ContainsFunc(known.codes, func(code string) bool { return strings.Contains(words, code) }) {
			return known.remedy
		}
	}
	return ""
}

// held is what the objects of the management cluster know of a deletion that does not go on.
type held struct {
	hosted *hyperv1.HostedCluster
	plane  *hyperv1.HostedControlPlane
	// objects wait for their deletion: NodePools, Cluster API's kinds.
	objects []client.Object
	// refused are Azure's own words about machines.
	refused string
	now     time.Time
}

// sentences say what holds the deletion up and what a person does about it, each whole; none where it only takes its time.
func (h held) sentences() []string {
	var all []string
	azure := h.credentials()
	for _, sentence := range []string{azure, h.controlPlane()} {
		if sentence != "" {
			all = append(all, sentence)
		}
	}
	if remedy := remedyOf(h.refused); remedy != "" && azure == "" {
		all = append(all, "To go on, "+remedy+".")
	}
	all = append(all, h.foreign()...)
	all = append(all, h.drains()...)
	if azure != "" || h.refused != "" || len(all) > 0 && h.controlPlane() != "" {
		all = append(all, fmt.Sprintf("What cannot be repaired is given up, and stays in Azure, with: hypershift destroy cluster azure --name %s --namespace %s --force.", h.hosted.Name, h.hosted.Namespace))
	}
	return all
}

// credentials: an identity that was deleted, or lost its federated credential, gets no token, and Cluster API's provider says nothing of it.
func (h held) credentials() string {
	if h.plane == nil {
		return ""
	}
	found := kube.Find(h.plane.Status.Conditions, hyperv1.PlatformCredentialsFound)
	if found == nil || found.Status != metav1.ConditionFalse {
		return ""
	}
	return fmt.Sprintf("Azure does not let the hosted cluster's identities in: %s. To go on, %s.", strings.TrimSuffix(found.Message, "."), remedies[0].remedy)
}

// controlPlane: the tokens of Cluster API's provider come from the hosted cluster's API server, which needs its etcd.
func (h held) controlPlane() string {
	if h.plane == nil || !h.plane.Status.Initialized {
		return ""
	}
	const needs = "the machines are deleted with tokens of the hosted cluster's API server"
	for _, part := range []struct{ condition, what, remedy string }{
		{hyperv1.EtcdAvailable, "etcd", "see that its pods and disks come back"},
		{hyperv1.KubeAPIServerAvailable, "the API server", "see that its pods come back"},
	} {
		if c := kube.Find(h.plane.Status.Conditions, part.condition); c != nil && c.Status == metav1.ConditionFalse {
			return fmt.Sprintf("%s of the hosted cluster does not serve, and %s: %s. To go on, %s (kubectl -n %s get pods).",
				part.what, needs, strings.TrimSuffix(c.Message, "."), part.remedy, h.plane.Namespace)
		}
	}
	return ""
}

// foreign names the finalizers of others: nobody here knows what they are for.
func (h held) foreign() []string {
	var all []string
	for _, obj := range append([]client.Object{h.hosted}, h.objects...) {
		theirs := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), known)
		if obj.GetDeletionTimestamp() == nil || len(theirs) == 0 {
			continue
		}
		all = append(all, fmt.Sprintf("%s is held by finalizer %s of somebody else: who set it takes it off, or you do with kubectl -n %s edit, if nobody needs it any more.",
			kube.Describe(obj), strings.Join(theirs, ", "), obj.GetNamespace()))
	}
	return all
}

// known finalizers are ours, the command line's, which comes after us, Kubernetes' and Cluster API's.
func known(finalizer string) bool {
	group, _, _ := strings.Cut(finalizer, "/")
	return group == hyperv1.GroupVersion.Group || group == "cluster.x-k8s.io" || strings.HasSuffix(group, ".cluster.x-k8s.io") ||
		finalizer == hyperv1.DestroyFinalizer || finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}

// drains tells of machines that cannot be emptied: a budget, a webhook of the hosted cluster or a node that does not answer is in the way.
func (h held) drains() []string {
	var all []string
	for _, obj := range h.objects {
		machine, ok := obj.(*unstructured.Unstructured)
		if !ok || machine.GetKind() != clusterapi.Machine.Kind || machine.GetDeletionTimestamp() == nil || h.now.Before(machine.GetDeletionTimestamp().Add(drainPatience)) {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(machine.Object, "status", "conditions")
		for _, item := range conditions {
			c, ok := item.(map[string]any)
			if !ok || c["type"] != machineDeleting || c["reason"] != "DrainingNode" && c["reason"] != "WaitingForVolumeDetach" {
				continue
			}
			words, _ := c["message"].(string)
			all = append(all, fmt.Sprintf("Machine %s cannot be emptied: %s. To go on, delete the webhook or the disruption budget of the hosted cluster that refuses it, or let the machine go with its pods: kubectl -n %s annotate machine %s machine.cluster.x-k8s.io/exclude-node-draining= machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach=.",
				machine.GetName(), strings.TrimSuffix(azureWords(words), "."), machine.GetNamespace(), machine.GetName()))
		}
	}
	return all
}

// hindrances looks at what a step waits for; none for steps that wait for nothing of Azure's or of others.
func (d *Deletion) hindrances(ctx context.Context, s step, refused string) ([]string, error) {
	h := held{hosted: d.Hosted, plane: d.Plane, refused: refused, now: d.Now()}
	pools, err := d.NodePools(ctx)
	if err != nil {
		return nil, err
	}
	for i := range pools {
		h.objects = append(h.objects, &pools[i])
	}
	if d.Plane != nil && !d.Apart {
		h.objects = append(h.objects, d.Plane)
	}
	if d.Apart || s.reason != hyperv1.DeletingNodePoolsReason && s.reason != hyperv1.DeletingMachinesReason {
		h.plane, h.refused = nil, ""
		return h.sentences(), nil
	}
	var errs []error
	for _, kind := range []struct {
		list   *unstructured.UnstructuredList
		reader client.Reader
	}{
		{clusterapi.NewList(clusterapi.Cluster), d.Live}, {clusterapi.NewList(clusterapi.Machine), d.Client},
		{clusterapi.NewList(clusterapi.AzureCluster), d.Live}, {clusterapi.NewList(clusterapi.AzureMachine), d.Live},
	} {
		if err := kind.reader.List(ctx, kind.list, client.InNamespace(d.Namespace)); err != nil && !meta.IsNoMatchError(err) {
			errs = append(errs, fmt.Errorf("list what holds the deletion up: %w", err))
		}
		for i := range kind.list.Items {
			h.objects = append(h.objects, &kind.list.Items[i])
		}
	}
	return h.sentences(), errors.Join(errs...)
}
