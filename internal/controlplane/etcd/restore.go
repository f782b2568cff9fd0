package etcd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/restoration"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const (
	// helperBinary lies in the control-plane-operator's image.
	helperBinary = "/usr/bin/etcd-helper"

	snapshotSecret = contract.EtcdSnapshot
	snapshotKey    = contract.EtcdRestoreURL
	restoreDir     = "/etc/etcd/restore"
	snapshotDir    = "/etc/etcd/snapshot"
	userCADir      = "/etc/etcd/user-ca"
)

// SnapshotURL is the snapshot that the cluster begins with; empty for none.
func SnapshotURL(hcp *hyperv1.HostedControlPlane) string {
	if m := hcp.Spec.Etcd.Managed; m != nil && len(m.Storage.RestoreSnapshotURL) > 0 {
		return m.Storage.RestoreSnapshotURL[0]
	}
	return ""
}

// SnapshotName is the snapshot for people: without the signature that the address may carry.
func SnapshotName(hcp *hyperv1.HostedControlPlane) string {
	parsed, err := url.Parse(SnapshotURL(hcp))
	if err != nil {
		return "the given address"
	}
	return parsed.Host + parsed.Path
}

// addRestore lets the pods begin with the user's snapshot. Once they have, the address is taken away: a member that loses its disk
// later must not come back with a state that the others have left behind.
func addRestore(ctx *component.Context, pod *corev1.PodSpec) []client.Object {
	address := SnapshotURL(ctx.HCP)
	if address == "" {
		return nil
	}
	addRestorer(ctx, pod, restorer(ctx, contract.CommandRestoreSnapshot, "snapshot", snapshotDir))
	pod.Volumes = append(pod.Volumes, component.SecretVolume("snapshot", snapshotSecret))

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: snapshotSecret}, Type: corev1.SecretTypeOpaque}
	if !kube.IsTrue(ctx.HCP.Status.Conditions, hyperv1.HostedClusterRestoredFromBackup) {
		began := ctx.HCP.CreationTimestamp.Time
		secret.Data = map[string][]byte{snapshotKey: []byte(address), contract.EtcdRestoreRevision: restoration.Revision(began)}
	}
	return []client.Object{secret}
}

// addRestoreInPlace lets the pods go back to a backup that was asked for later. It stays once it was asked for: taking it away again would
// restart etcd for nothing. A request without an id would keep members from starting, and is none.
func addRestoreInPlace(ctx *component.Context, pod *corev1.PodSpec) error {
	request, err := ctx.Secret(contract.EtcdRestore)
	var missing *component.MissingInputError
	if errors.As(err, &missing) || err == nil && len(request[contract.EtcdRestoreID]) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	container := restorer(ctx, restoration.ContainerName, "restore", restoreDir)
	container.Command = append(container.Command, "--id-file="+restoreDir+"/"+contract.EtcdRestoreID)
	addRestorer(ctx, pod, container)
	pod.Volumes = append(pod.Volumes, component.SecretVolume("restore", contract.EtcdRestore))
	return nil
}

// addRestorer adds an init container that downloads, with what that needs.
func addRestorer(ctx *component.Context, pod *corev1.PodSpec, container corev1.Container) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{InitContainers: []corev1.Container{container}}}
	if ctx.Settings.Cloud != nil {
		ctx.Settings.Cloud(template)
	}
	trust := component.ConfigMapVolume("user-ca", contract.UserCABundle)
	trust.ConfigMap.Optional = ptr.To(true)
	pod.InitContainers = append(pod.InitContainers, template.Spec.InitContainers...)
	for _, volume := range append(template.Spec.Volumes, trust) {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
			pod.Volumes = append(pod.Volumes, volume)
		}
	}
}

// restorer takes the address of a backup from a Secret that the volume has.
func restorer(ctx *component.Context, name, volume, directory string) corev1.Container {
	return corev1.Container{
		Name: name, Image: ctx.Settings.Image,
		Command: append([]string{helperBinary, contract.CommandRestoreSnapshot,
			"--url-file=" + directory + "/" + snapshotKey, "--revision-file=" + directory + "/" + contract.EtcdRestoreRevision, "--ca-file=" + userCADir + "/" + hyperv1.TrustBundleKey}, memberArgs(ctx)...),
		Env:       memberEnv(),
		Resources: component.Requests("10m", "50Mi"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "data", MountPath: dataDir}, component.Mount(volume + ":" + directory), component.Mount("user-ca:" + userCADir),
		},
	}
}

// reloads: etcd reads its certificates for every connection, and its authorities once, which authorityAnnotation stands for. What a
// restore needs is over when etcd runs.
func reloads(*component.Context) []string {
	return []string{contract.EtcdServerCertificate, contract.EtcdPeerCertificate, contract.EtcdCA, contract.EtcdMetricsCA, snapshotSecret, contract.UserCABundle, contract.TrustedCA, begunConfigMap, contract.EtcdRestore}
}

// authorityAnnotation on the pods restarts them when the authorities they have read do not accept the present certificates any more, or
// accept too much. A successor that is vouched for is no reason: with one member a restart is an outage.
const authorityAnnotation = "hypershift.openshift.io/etcd-authority-hash"

func stampAuthority(ctx *component.Context, template *corev1.PodTemplateSpec) {
	data, _ := ctx.Inputs.Data("Secret", pki.EtcdSigner)
	sum := sha256.Sum256(pki.Anchor(data, contract.CAKey))
	template.Annotations = map[string]string{authorityAnnotation: hex.EncodeToString(sum[:])[:16]}
}
