package destroy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
)

// waitForOperator waits until only this command's finalizer is left, and says what the operator waits for.
func (o *options) waitForOperator(ctx context.Context, c client.Client, key client.ObjectKey, say func(string, ...any)) error {
	watch := progress.NewWatch(say, o.gracePeriod)
	err := management.Within(ctx, time.Second, o.gracePeriod, func(ctx context.Context) (bool, error) {
		hc, err := getHostedCluster(ctx, c, key)
		if management.IsTransient(err) {
			return false, nil
		}
		if err != nil || hc == nil {
			return err == nil, err
		}
		others := slices.DeleteFunc(slices.Clone(hc.Finalizers), func(f string) bool { return f == hyperv1.DestroyFinalizer })
		watch.Saw(deletionMessage(hc))
		return len(others) == 0, nil
	})
	if !errors.Is(err, management.ErrTimeUp) {
		return err
	}
	for _, line := range stillThere(ctx, c, key) {
		say("still there: %s", line)
	}
	if o.force {
		say("the management cluster has not finished within %s; taking the finalizers off", o.gracePeriod)
		return o.forceFinalization(ctx, c, key)
	}
	return fmt.Errorf("HostedCluster %s wasn't finalized within %s (%s); its deletion goes on: wait with the same command again, or end it without the management cluster's controllers: %s",
		key, o.gracePeriod, watch.Last(), progress.JourneyOf(ctx).Typed("--force"))
}

func deletionMessage(hc *hyperv1.HostedCluster) string {
	for _, c := range hc.Status.Conditions {
		if strings.Contains(c.Type, "Deletion") || strings.Contains(c.Type, "Destroyed") {
			return c.Message
		}
	}
	return ""
}

// stillThere names what is left of a hosted cluster, and why in the words of its conditions. Of a namespace that is somebody else's it tells
// only that.
func stillThere(ctx context.Context, c client.Client, key client.ObjectKey) []string {
	named := func(obj *unstructured.Unstructured) bool { return obj.GetName() == key.Name }
	ofCluster := func(obj *unstructured.Unstructured) bool {
		cluster, _, _ := unstructured.NestedString(obj.Object, "spec", "clusterName")
		return cluster == key.Name
	}
	lines := remaining(ctx, c, schema.GroupKind{Group: hyperv1.GroupVersion.Group, Kind: "HostedCluster"}, key.Namespace, named)
	lines = append(lines, remaining(ctx, c, schema.GroupKind{Group: hyperv1.GroupVersion.Group, Kind: "NodePool"}, key.Namespace, ofCluster)...)
	namespace, err := controlPlaneNamespace(ctx, c, key)
	if err != nil {
		return append(lines, fmt.Sprintf("perhaps a control plane, which is not looked for: %v", err))
	}
	if namespace == nil {
		return lines
	}
	for _, kind := range forced {
		if kind.Kind != "Deployment" { // it goes with its namespace
			lines = append(lines, remaining(ctx, c, kind, namespace.Name, func(*unstructured.Unstructured) bool { return true })...)
		}
	}
	return append(lines, "Namespace "+namespace.Name)
}

// namedObjects is how many objects of a kind are named.
const namedObjects = 5

// remaining are the objects of a kind that are left. What cannot be listed is said instead.
func remaining(ctx context.Context, c client.Client, kind schema.GroupKind, namespace string, of func(*unstructured.Unstructured) bool) []string {
	mapping, err := c.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	if err == nil {
		list.SetGroupVersionKind(mapping.GroupVersionKind)
		err = c.List(ctx, list, client.InNamespace(namespace))
	}
	if err != nil {
		return []string{fmt.Sprintf("perhaps %ss in %s, which cannot be listed: %v", kind.Kind, namespace, err)}
	}
	var lines []string
	for i := range list.Items {
		if obj := &list.Items[i]; of(obj) {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %s/%s: %s", kind.Kind, namespace, obj.GetName(), whyLeft(obj)), ": "))
		}
	}
	if more := len(lines) - namedObjects; more > 0 {
		lines = append(lines[:namedObjects], fmt.Sprintf("%d more %ss", more, kind.Kind))
	}
	return lines
}

// whyLeft is what the condition says that tells most about a deletion, and who holds the object.
func whyLeft(obj *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	best, words := 0, ""
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		message, _ := condition["message"].(string)
		if weight := tellsOfDeletion(condition); weight > best && message != "" {
			best, words = weight, printing.OneLine(errors.New(message))
		}
	}
	if held := obj.GetFinalizers(); words == "" && len(held) > 0 {
		words = "held by " + strings.Join(held, ", ")
	}
	return printing.Shorten(words)
}

// tellsOfDeletion weighs a condition; 0 is one that says nothing of what is wrong.
func tellsOfDeletion(condition map[string]any) int {
	kind, _ := condition["type"].(string)
	switch {
	case strings.Contains(kind, "Delet"), strings.Contains(kind, "Destroyed"):
		return 4
	case condition["status"] != "False":
		return 0
	case kind == "Ready":
		return 3
	case strings.Contains(kind, "Machine"):
		return 2
	}
	return 1
}
