package etcd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

const (
	defragName  = contract.EtcdDefragmenter
	tokenVolume = "management-token"
	// An hour is the shortest that Kubernetes is sure to grant.
	tokenSeconds = 3600
)

// addDefrag runs the controller that defragments members beside each of them, where the others serve meanwhile: with one member it would
// be an outage. It is the only container with a token for the management cluster, which lets it hold its Lease.
func addDefrag(ctx *component.Context, template *corev1.PodTemplateSpec) []client.Object {
	if !ctx.HighlyAvailable() {
		return nil
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[component.LabelManagementAccess] = "true"
	pod := &template.Spec
	pod.Volumes = append(pod.Volumes, tokenProjection())
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: defragName, Image: ctx.Settings.Image,
		Command: []string{helperBinary, defragName, "--namespace=$(NAMESPACE)", "--identity=$(POD_NAME)", "--endpoints=" + strings.Join(clientURLs(ctx), ","),
			"--trusted-ca-file=" + authorityFile, "--cert-file=" + serverCertFile, "--key-file=" + serverKeyFile},
		Env:       memberEnv(),
		Resources: component.Requests("10m", "30Mi"),
		VolumeMounts: []corev1.VolumeMount{
			component.Mount("server-tls:/etc/etcd/tls/server"), component.Mount("ca:/etc/etcd/tls/ca"),
			component.Mount(tokenVolume + ":/var/run/secrets/kubernetes.io/serviceaccount"),
		},
	})
	return component.Access(Name, ctx.Namespace(), rbac.Rule("coordination.k8s.io", "create", "leases"),
		rbac.Named(rbac.Rule("coordination.k8s.io", "get,update", "leases"), defragName))
}

// tokenProjection is what Kubernetes mounts into every container of a pod that asks for it.
func tokenProjection() corev1.Volume {
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](0o640),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](tokenSeconds)}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: contract.KubeRootCA},
				Items: []corev1.KeyToPath{{Key: contract.CAKey, Path: contract.CAKey}}}},
		},
	}}}
}
