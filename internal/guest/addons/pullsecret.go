package addons

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	// PullSecretSyncerName is the name of the DaemonSet that writes the merged pull secret on nodes.
	PullSecretSyncerName = "global-pull-secret-syncer"
	originalPullSecret   = "original-pull-secret"
	globalPullSecret     = "global-pull-secret"
	// pullSecretHash of its pods has new ones take the place of those of another content.
	pullSecretHash = "globalps-config-hash"
)

//go:embed pullsecret.sh
var pullSecretScript string

// pullSecrets are what nodes pull images with: the pull secret of the cluster, or what an administrator of the guest made of it. Nodes have it
// without new machines.
func pullSecrets(facts *inside.Facts) []client.Object {
	secret := func(name string, content []byte) client.Object {
		return &corev1.Secret{ObjectMeta: inside.Meta(name), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{hyperv1.PullSecretKey: content}}
	}
	out := []client.Object{secret(originalPullSecret, facts.PullSecret), access.ServiceAccount(PullSecretSyncerName), pullSecretSyncer(facts)}
	if len(facts.MergedPullSecret) > 0 {
		out = append(out, secret(globalPullSecret, facts.MergedPullSecret))
	}
	return out
}

// pullSecretSyncer is privileged: it writes a file of the kubelet's and starts it again, in the mounts of the machine. It has no rights in
// Kubernetes.
func pullSecretSyncer(facts *inside.Facts) client.Object {
	volume := func(name string, optional bool) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: name, Optional: ptr.To(optional), DefaultMode: ptr.To[int32](0o400)}}}
	}
	set := daemonSet(PullSecretSyncerName, corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false), HostPID: true, DNSPolicy: corev1.DNSDefault, TerminationGracePeriodSeconds: ptr.To[int64](10),
		NodeSelector: map[string]string{hyperv1.NodePoolGlobalPullSecretLabel: "true"},
		Containers: []corev1.Container{{
			Name: PullSecretSyncerName, Image: facts.Images[checkerImage], Command: []string{"/bin/sh", "-c", pullSecretScript},
			Resources: requests("5m", "35Mi"), SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
			VolumeMounts: []corev1.VolumeMount{mount("kubelet", kubeletDir), readOnly(originalPullSecret, "/etc/"+originalPullSecret), readOnly(globalPullSecret, "/etc/"+globalPullSecret)},
		}},
		Volumes: []corev1.Volume{hostPath("kubelet", kubeletDir), volume(originalPullSecret, false), volume(globalPullSecret, true)},
	})
	digest := sha256.Sum256(append([]byte(string(facts.PullSecret)+"\n"), facts.MergedPullSecret...))
	set.Spec.Template.Labels = map[string]string{contract.AppLabel: PullSecretSyncerName, pullSecretHash: hex.EncodeToString(digest[:8])}
	return set
}
