package inplace

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// targetLabel of a pod is the configuration that it makes its node; poolLabel of a Secret whose settings it has.
	targetLabel = "hypershift.openshift.io/update-target"
	poolLabel   = "hypershift.openshift.io/update-pool"
	// shellImage is the payload's key of an image with a shell.
	shellImage = "cli"
	// retryPeriod is how long a failed pod stays, and with it the machine at rest, before the next try.
	retryPeriod = 30 * time.Second

	settingsKey = "settings"
	settingsDir = "/etc/update"
)

// outcome is how far the program on a node is.
type outcome struct {
	done bool
	// failure is what its last try said, waits what it waits for.
	failure, waits string
	// since is from when on a node that is done has said what it says with its configuration.
	since time.Time
}

// run has the program run on the node, and tells how far it is.
func (r *reconciler) run(ctx context.Context, set *unstructured.Unstructured, node *corev1.Node, target string) (outcome, error) {
	pod := &corev1.Pod{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: inside.KubeSystem, Name: podName(node.Name)}, pod)
	switch {
	case apierrors.IsNotFound(err):
		return r.start(ctx, set, node, target)
	case err != nil:
		return outcome{}, fmt.Errorf("read pod %s: %w", podName(node.Name), err)
	case pod.DeletionTimestamp != nil:
		return outcome{waits: "a former try ends"}, nil
	case pod.Labels[targetLabel] != target || pod.Spec.NodeName != node.Name:
		return outcome{waits: "a former try ends"}, r.dropPod(ctx, node.Name)
	}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return outcome{done: true, since: kubeletSince(pod)}, nil
	case corev1.PodFailed:
		failure, ended := lastWords(pod)
		if r.now().Sub(ended) > retryPeriod {
			err = r.dropPod(ctx, node.Name)
		}
		return outcome{failure: failure}, err
	case corev1.PodRunning:
		return outcome{waits: "its program runs"}, nil
	}
	return outcome{waits: "its program starts" + waiting(pod)}, nil
}

// start makes the pod, and before it the Secret with what the program reads.
func (r *reconciler) start(ctx context.Context, set *unstructured.Unstructured, node *corev1.Node, target string) (outcome, error) {
	pool := set.GetName()
	offered := &corev1.Secret{}
	err := r.management.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: contract.InPlaceUpdates}, offered)
	if client.IgnoreNotFound(err) != nil {
		return outcome{}, fmt.Errorf("read Secret %s of the control plane: %w", contract.InPlaceUpdates, err)
	}
	settings := offered.Data[contract.InPlaceUpdateKey(pool, target)]
	if len(settings) == 0 {
		return outcome{waits: "the node pool does not say yet where its configuration is"}, nil
	}
	image, err := r.image(ctx)
	if err != nil {
		return outcome{}, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: settingsName(pool, target), Labels: map[string]string{poolLabel: pool}},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{settingsKey: settings},
	}
	if err := kube.ApplyAlways(ctx, r.guest, inside.FieldManager, secret); err != nil {
		return outcome{}, err
	}
	if err := r.guest.Create(ctx, updatePod(node.Name, pool, target, image)); err != nil && !apierrors.IsAlreadyExists(err) {
		return outcome{}, fmt.Errorf("create pod %s: %w", podName(node.Name), err)
	}
	return outcome{waits: "its program starts"}, nil
}

func (r *reconciler) image(ctx context.Context) (string, error) {
	facts, err := r.readFacts(ctx)
	if err != nil {
		return "", err
	}
	if !facts.Has(shellImage) {
		return "", fmt.Errorf("release %s has no image %s, in which the program that changes a node is called; use a release that has it", facts.Version, shellImage)
	}
	return facts.Images[shellImage], nil
}

// updateCommand runs the program. One of a former release does not say since when the kubelet runs.
const updateCommand = "nsenter -t 1 -m -- " + ignition.NodeUpdate + " <" + settingsDir + "/" + settingsKey +
	" && { nsenter -t 1 -m -- cat " + ignition.KubeletSince + " >" + corev1.TerminationMessagePathDefault + " || true; }"

func podName(node string) string              { return "node-update-" + node }
func settingsName(pool, target string) string { return "node-update-" + pool + "-" + target }

// updatePod calls the program in the mounts of the machine itself, which it does not leave when kubelet or container runtime start again, and
// says at its end since when the kubelet runs. It has no account: all it is given are the settings, on its standard input.
func updatePod(node, pool, target, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: podName(node), Labels: map[string]string{targetLabel: target, poolLabel: pool}},
		Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyNever, HostPID: true, HostNetwork: true, PriorityClassName: contract.NodeCritical,
			AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](1),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "update", Image: image,
				Command:                  []string{"/bin/sh", "-c", updateCommand},
				Env:                      []corev1.EnvVar{{Name: "PATH", Value: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
				SecurityContext:          &corev1.SecurityContext{Privileged: ptr.To(true)},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				VolumeMounts:             []corev1.VolumeMount{{Name: settingsKey, MountPath: settingsDir, ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{{Name: settingsKey, VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: settingsName(pool, target), DefaultMode: ptr.To[int32](0o400)},
			}}},
		},
	}
}

func (r *reconciler) dropPod(ctx context.Context, node string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: inside.KubeSystem, Name: podName(node)}}
	if err := r.guest.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	return nil
}

// dropSettings deletes the Secrets of a pool, whose tokens nobody needs any more.
func (r *reconciler) dropSettings(ctx context.Context, pool string) error {
	err := r.guest.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(inside.KubeSystem), client.MatchingLabels{poolLabel: pool})
	if err != nil {
		return fmt.Errorf("delete the settings of node pool %s: %w", pool, err)
	}
	return nil
}

// lastWords are what the program said at last, and when it ended.
func lastWords(pod *corev1.Pod) (string, time.Time) {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil {
			return readable(cmp.Or(ended.Message, ended.Reason, fmt.Sprintf("it ended with status %d", ended.ExitCode))), ended.FinishedAt.Time
		}
	}
	return readable(cmp.Or(pod.Status.Message, pod.Status.Reason, "it ended, and nobody says why")), pod.CreationTimestamp.Time
}

// kubeletSince is when the kubelet started with the configuration, as the program says it. Without its word it is the program's own start:
// a kubelet of before may have said something after that.
func kubeletSince(pod *corev1.Pod) time.Time {
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; ended != nil {
			if seconds, err := strconv.ParseInt(strings.TrimSpace(ended.Message), 10, 64); err == nil {
				return time.Unix(seconds, 0)
			}
			return ended.StartedAt.Time
		}
	}
	return pod.CreationTimestamp.Time
}

func waiting(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if why := status.State.Waiting; why != nil {
			return ": " + why.Reason
		}
	}
	return ""
}
