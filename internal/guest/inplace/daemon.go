package inplace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Annotations of a Node by which the machine-config-daemon asks for a drain, and learns that it is done: a verb, a dash, a configuration.
const (
	desiredDrain = "machineconfiguration.openshift.io/desiredDrain"
	appliedDrain = "machineconfiguration.openshift.io/lastAppliedDrain"
	drainVerb    = "drain"
	uncordonVerb = "uncordon"
	unreconciled = "Unreconcilable"
)

const (
	// daemonImage is the payload's key of the image with the machine-config-daemon.
	daemonImage = contract.ImageMachineConfig
	// daemonPeriod is how soon nodes are looked at again that the daemon changes.
	daemonPeriod = 30 * time.Second
	// payloadPeriod is how soon a configuration is looked for that is not rendered yet.
	payloadPeriod = 5 * time.Second
	// unreachableLimit is after what time nobody waits for the pods of a node that says nothing.
	unreachableLimit = 5 * time.Minute

	wantedDir = "/etc/machine-config-daemon-desired-config"
	hostRoot  = "/rootfs"
)

// daemon changes the nodes of payloads whose own machine-config-daemon does so: it is given the configuration, asks for drains, and says on
// the Node how far it is:
//  1. what it reads: namespace and ConfigMap <pool>-upgrade in the guest
//  2. begin with as many nodes as may be away: the Node says what is wanted, a pod of the daemon runs on it
//  3. cordon and evict, or uncordon, as it asks for
//  4. a node that is what is wanted loses the pod; progress and failures are told on the MachineSet
type daemon struct {
	*reconciler
	facts   *inside.Facts
	set     *unstructured.Unstructured
	target  string
	members []*member
}

func (d *daemon) change(ctx context.Context) (ctrl.Result, error) {
	if d.finished() {
		for _, m := range d.members {
			if err := d.dropDaemon(ctx, m); err != nil {
				return ctrl.Result{}, err
			}
		}
		return ctrl.Result{}, d.finish(ctx, d.set, d.target)
	}
	image, err := d.prepare(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if image == "" {
		return ctrl.Result{RequeueAfter: payloadPeriod}, nil
	}
	if err := d.leave(ctx, d.set); err != nil {
		return ctrl.Result{}, err
	}
	for _, m := range d.chosen() {
		if err := d.want(ctx, m); err != nil {
			return ctrl.Result{}, err
		}
	}
	var notes []string
	for _, m := range d.members {
		if m.node == nil || m.node.Annotations[desiredConfig] != d.target {
			continue
		}
		note, err := d.follow(ctx, m, image)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "have a node changed in place", "node", m.node.Name)
			note = err.Error()
		}
		if note != "" {
			notes = append(notes, m.node.Name+": "+note)
		}
	}
	return ctrl.Result{RequeueAfter: daemonPeriod}, d.tell(ctx, d.set, d.members, d.target, d.arrived, notes)
}

// arrived: the daemon has made the node what is wanted, and it takes pods again.
func (d *daemon) arrived(m *member) bool {
	if m.node == nil {
		return false
	}
	told := m.node.Annotations
	return told[currentConfig] == d.target && told[desiredConfig] == d.target && told[configState] == done && told[desiredDrain] == told[appliedDrain]
}

func (d *daemon) finished() bool {
	return !slices.ContainsFunc(d.members, func(m *member) bool { return !d.arrived(m) })
}

// prepare gives the daemon what it reads, and returns its image; empty while the configuration is not rendered.
func (d *daemon) prepare(ctx context.Context) (string, error) {
	token := &corev1.Secret{}
	err := d.management.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: contract.PoolToken(d.set.GetName(), d.target)}, token)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // the right to it comes with its configuration
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the configuration of node pool %s: %w", d.set.GetName(), err)
	}
	if len(token.Data[ignition.TokenPayloadKey]) == 0 {
		return "", nil
	}
	if len(token.Data[ignition.TokenReleaseVersionKey]) == 0 {
		return "", fmt.Errorf("Secret %s has no key %s, so nobody knows of which release the nodes are to be", token.Name, ignition.TokenReleaseVersionKey)
	}
	name := upgradeName(d.set.GetName())
	err = kube.Apply(ctx, d.guest, inside.FieldManager,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "privileged", "pod-security.kubernetes.io/audit": "privileged", "pod-security.kubernetes.io/warn": "privileged",
			contract.PodSecuritySyncLabel: "false",
		}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}, Data: map[string]string{"config": string(token.Data[ignition.TokenPayloadKey]), "hash": d.target}})
	if err != nil {
		return "", err
	}
	return d.image(ctx, string(token.Data[ignition.TokenReleaseKey]))
}

func upgradeName(pool string) string { return pool + "-upgrade" }

// image is the daemon's, of the pool's own release: the control plane may be of a newer one.
func (d *daemon) image(ctx context.Context, of string) (string, error) {
	trust := &corev1.ConfigMap{}
	err := d.management.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: contract.UserCABundle}, trust)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read the user's trust bundle: %w", err)
	}
	payload, err := d.releases.Lookup(ctx, of, release.Access{
		PullSecret: d.facts.PullSecret, TrustBundle: []byte(trust.Data[hyperv1.TrustBundleKey]), Mirrors: release.ContentSources(d.facts.HCP.Spec.ImageContentSources),
	})
	if err != nil {
		return "", err
	}
	if payload.Images[daemonImage] == "" {
		return "", fmt.Errorf("release %s has no image %s, whose daemon changes nodes; use a complete payload", payload.Version, daemonImage)
	}
	return payload.Images[daemonImage], nil
}

// chosen are the nodes to begin with now, and those that are on their way to something else.
func (d *daemon) chosen() []*member {
	limit := maxUnavailable(d.set)
	if d.set.GetAnnotations()[contract.PausedAnnotation] == "true" {
		limit = 0 // what was begun comes to its end
	}
	var candidates, out []*member
	for _, m := range d.members {
		if m.node == nil {
			continue
		}
		current, desired := m.node.Annotations[currentConfig], m.node.Annotations[desiredConfig]
		switch {
		case desired == d.target && !d.arrived(m), desired != d.target && !isReady(m.node):
			limit--
		case desired != d.target && current != desired:
			limit--
			out = append(out, m)
		case desired != d.target:
			candidates = append(candidates, m)
		}
	}
	return append(out, candidates[:max(0, min(limit, len(candidates)))]...)
}

// want says on the Node what it is to become.
func (d *daemon) want(ctx context.Context, m *member) error {
	return d.patchNode(ctx, m.node, func(node *corev1.Node) { node.Annotations[desiredConfig] = d.target })
}

// follow takes a node further that was begun, and says what it waits for; empty when it is done.
func (d *daemon) follow(ctx context.Context, m *member, image string) (string, error) {
	if waits, err := d.drain(ctx, m.node); err != nil || waits != "" {
		return waits, err
	}
	if d.arrived(m) {
		version := d.set.GetAnnotations()[hyperv1.NodePoolReleaseVersionAnnotation]
		if err := d.annotate(ctx, m.machine, map[string]string{hyperv1.NodePoolReleaseVersionAnnotation: version}); err != nil {
			return "", err
		}
		return "", d.dropDaemon(ctx, m)
	}
	return d.runDaemon(ctx, m.node, image)
}

// drain does what the daemon asks for of the node's pods.
func (d *daemon) drain(ctx context.Context, node *corev1.Node) (string, error) {
	wanted := node.Annotations[desiredDrain]
	if wanted == "" || wanted == node.Annotations[appliedDrain] {
		return "", nil
	}
	verb, _, _ := strings.Cut(wanted, "-")
	switch verb {
	case drainVerb:
		if err := d.patchNode(ctx, node, func(node *corev1.Node) { node.Spec.Unschedulable = true }); err != nil {
			return "", err
		}
		waits, err := d.empty(ctx, node)
		if err != nil || (waits != "" && !d.unreachable(node)) {
			return waits, err
		}
	case uncordonVerb:
	default:
		return "", fmt.Errorf("annotation %s says %q, which is neither %s nor %s", desiredDrain, readable(wanted), drainVerb, uncordonVerb)
	}
	return "", d.patchNode(ctx, node, func(node *corev1.Node) {
		node.Spec.Unschedulable = verb == drainVerb
		node.Annotations[appliedDrain] = wanted
	})
}

// unreachable: the node has said nothing for so long that its pods end nowhere.
func (d *daemon) unreachable(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown && d.now().Sub(c.LastTransitionTime.Time) > unreachableLimit
		}
	}
	return false
}

// runDaemon has the daemon run on the node. One that has ended is taken away, and the next look starts it again.
func (d *daemon) runDaemon(ctx context.Context, node *corev1.Node, image string) (string, error) {
	wanted := daemonPod(d.set.GetName(), d.target, node, image, ignition.ClusterProxy(d.facts.HCP.Spec.Configuration, d.facts.HCP.Spec.Networking, d.facts.HCP.Spec.Platform.Type))
	pod := &corev1.Pod{}
	err := d.live.Get(ctx, client.ObjectKeyFromObject(wanted), pod)
	switch {
	case apierrors.IsNotFound(err):
		if err := d.guest.Create(ctx, wanted); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("create pod %s: %w", wanted.Name, err)
		}
		return "its machine-config-daemon starts", nil
	case err != nil:
		return "", fmt.Errorf("read pod %s: %w", wanted.Name, err)
	case pod.DeletionTimestamp != nil:
		return "a former machine-config-daemon ends", nil
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed, pod.Labels[targetLabel] != d.target:
		if err := d.guest.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("delete pod %s: %w", pod.Name, err)
		}
		return "its machine-config-daemon is started again", nil
	}
	return "its machine-config-daemon works" + waiting(pod), nil
}

func (d *daemon) dropDaemon(ctx context.Context, m *member) error {
	if m.node == nil {
		return nil
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: upgradeName(d.set.GetName()), Name: daemonName(m.node.Name)}}
	if err := d.guest.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	return nil
}

func daemonName(node string) string { return "machine-config-daemon-" + node }
