package inplace

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Annotations of a Node, which OpenShift's machine-config-daemon has, too.
const (
	currentConfig = "machineconfiguration.openshift.io/currentConfig"
	desiredConfig = "machineconfiguration.openshift.io/desiredConfig"
	configState   = "machineconfiguration.openshift.io/state"
	configReason  = "machineconfiguration.openshift.io/reason"
	// cordonedAnnotation marks nodes that this controller has cordoned. It uncordons only those.
	cordonedAnnotation = "hypershift.openshift.io/cordoned-for-update"

	working  = "Working"
	done     = "Done"
	degraded = "Degraded"
	// maxReason is in bytes.
	maxReason = 2000
)

// member is a Machine of a pool and its Node, which it may not have yet.
type member struct {
	machine *unstructured.Unstructured
	node    *corev1.Node
}

// current is the hash of the configuration that the node has: what it became here, else what it says that its machine started with. A node
// of a former release does not say it: then it is what its Machine would be started with.
func (m *member) current() string {
	if m.node != nil {
		if hash := cmp.Or(m.node.Annotations[currentConfig], m.node.Labels[contract.StartedWithLabel]); hash != "" {
			return hash
		}
	}
	data, _, _ := unstructured.NestedString(m.machine.Object, "spec", "bootstrap", "dataSecretName")
	return data[strings.LastIndex(data, "-")+1:]
}

func (m *member) underWay() bool {
	return m.node != nil && (stateOf(m.node) == working || stateOf(m.node) == degraded)
}

func (m *member) done(target string) bool { return m.current() == target && !m.underWay() }

func stateOf(node *corev1.Node) string { return node.Annotations[configState] }

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// isReadySince: the kubelet has told so after the time. One tells when it starts.
func isReadySince(node *corev1.Node, since time.Time) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && !condition.LastHeartbeatTime.Time.Before(since)
		}
	}
	return false
}

func allDone(members []*member, target string) bool {
	for _, m := range members {
		if !m.done(target) {
			return false
		}
	}
	return true
}

// choose are the nodes to begin with now: so many that with those that are away, whatever for, no more than limit are.
func choose(members []*member, target string, limit int) []*member {
	var out, candidates []*member
	for _, m := range members {
		switch {
		case m.node == nil:
		case m.underWay() || !isReady(m.node):
			limit--
		case !m.done(target):
			candidates = append(candidates, m)
		}
	}
	for _, m := range candidates {
		if len(out) < limit {
			out = append(out, m)
		}
	}
	return out
}

// begin marks a node as one that is changed to the target, and cordons it.
func (r *reconciler) begin(ctx context.Context, m *member, target string) error {
	current := m.current()
	return r.patchNode(ctx, m.node, func(node *corev1.Node) {
		node.Annotations[currentConfig], node.Annotations[desiredConfig], node.Annotations[configState] = current, target, working
		delete(node.Annotations, configReason)
		if !node.Spec.Unschedulable {
			node.Spec.Unschedulable = true
			node.Annotations[cordonedAnnotation] = "true"
		}
	})
}

// end gives a changed node back, and says on its Machine which release it is of.
func (r *reconciler) end(ctx context.Context, set *unstructured.Unstructured, m *member, target string) error {
	release := set.GetAnnotations()[hyperv1.NodePoolReleaseVersionAnnotation]
	if err := r.annotate(ctx, m.machine, map[string]string{hyperv1.NodePoolReleaseVersionAnnotation: release}); err != nil {
		return err
	}
	err := r.patchNode(ctx, m.node, func(node *corev1.Node) {
		node.Annotations[currentConfig], node.Annotations[configState] = target, done
		delete(node.Annotations, configReason)
		if node.Annotations[cordonedAnnotation] != "" {
			node.Spec.Unschedulable = false
			delete(node.Annotations, cordonedAnnotation)
		}
	})
	if err != nil {
		return err
	}
	return r.dropPod(ctx, m.node.Name)
}

// patchNode changes a Node, and what is known of it here.
func (r *reconciler) patchNode(ctx context.Context, node *corev1.Node, change func(*corev1.Node)) error {
	before := node.DeepCopy()
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	change(node)
	if apiequality.Semantic.DeepEqual(before, node) {
		return nil
	}
	if err := r.guest.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("mark node %s: %w", node.Name, err)
	}
	return nil
}

// readable is one line of what a guest says.
func readable(text string) string {
	return strings.TrimSpace(strings.Map(func(char rune) rune {
		switch {
		case unicode.IsSpace(char):
			return ' '
		case unicode.IsPrint(char):
			return char
		}
		return -1
	}, strings.ToValidUTF8(text, "")))
}
