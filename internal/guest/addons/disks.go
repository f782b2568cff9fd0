package addons

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	diskNodeName = "azure-disk-csi-driver-node"
	// DiskClass is the StorageClass of claims that name none.
	DiskClass = "managed-csi"

	registrarImage = contract.ImageNodeRegistrar

	diskSocket       = "/csi/csi.sock"
	diskHealth       = "127.0.0.1:29603"
	diskHealthPort   = 29603
	kubeletDir       = "/var/lib/kubelet"
	registrationDir  = kubeletDir + "/plugins_registry"
	diskSocketFolder = kubeletDir + "/plugins/" + inside.DiskProvisioner
)

// disks is the half of the driver of Azure's disks that is in the guest: its pods on nodes, its classes, and the rights of both halves.
func disks(facts *inside.Facts) []client.Object {
	if !facts.HasDisks() {
		return nil
	}
	objects := append(access.DiskDriver(facts), access.DiskNodes(facts)...)
	return append(objects,
		&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: inside.DiskProvisioner}, Spec: storagev1.CSIDriverSpec{
			AttachRequired: ptr.To(true), PodInfoOnMount: ptr.To(false), FSGroupPolicy: ptr.To(storagev1.FileFSGroupPolicy),
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		}},
		diskClass(facts),
		diskNodes(facts),
	)
}

// diskClass is the default class. Its disks have the tags of the cluster, which the operator has judged.
func diskClass(facts *inside.Facts) *storagev1.StorageClass {
	parameters := map[string]string{"skuname": "Premium_LRS"}
	if wanted, err := tags.Parse(facts.HCP.Annotations[hyperv1.AzureTagsAnnotation]); err == nil && len(wanted) > 0 {
		parameters["tags"] = tags.Format(wanted)
	}
	return &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: DiskClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:          inside.DiskProvisioner,
		Parameters:           parameters,
		ReclaimPolicy:        ptr.To(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
		AllowVolumeExpansion: ptr.To(true),
	}
}

// diskNodes formats and mounts what is attached to a machine. It learns the machine's size and zone from the metadata service, and
// holds no credential of Azure.
func diskNodes(facts *inside.Facts) *appsv1.DaemonSet {
	driver := corev1.Container{
		Name: "csi-driver", Image: facts.Images[contract.DiskDriver], Command: []string{"/bin/azurediskplugin"},
		Args: []string{"--endpoint=unix://" + diskSocket, "--nodeid=$(NODE_NAME)", "--enable-perf-optimization=true", "--allow-empty-cloud-config=true",
			"--cloud-config-secret-name=", "--cloud-config-secret-namespace=", "--get-node-info-from-labels=false", "--vm-type=standard",
			"--remove-not-ready-taint=false", "--v=2"},
		Env:             append(apiEnv(facts), fieldEnv(contract.NodeNameEnv, "spec.nodeName"), corev1.EnvVar{Name: contract.AzureCredentialFileEnv, Value: "/etc/kubernetes/cloud.conf"}),
		Resources:       requests("10m", "50Mi"),
		SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
		LivenessProbe: &corev1.Probe{InitialDelaySeconds: 30, PeriodSeconds: 30, TimeoutSeconds: 30, FailureThreshold: 5, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Host: "127.0.0.1", Path: "/healthz", Port: intstr.FromInt32(diskHealthPort)}}},
		VolumeMounts: []corev1.VolumeMount{
			mount("socket", "/csi"), mount("devices", "/dev"), readOnly("kubernetes", "/etc/kubernetes"),
			{Name: "kubelet", MountPath: kubeletDir, MountPropagation: ptr.To(corev1.MountPropagationBidirectional)},
		},
	}
	registrar := corev1.Container{
		Name: "csi-node-driver-registrar", Image: facts.Images[registrarImage], Command: []string{"/bin/csi-node-driver-registrar"},
		Args:         []string{"--csi-address=" + diskSocket, "--kubelet-registration-path=" + diskSocketFolder + "/csi.sock"},
		Resources:    requests("5m", "10Mi"),
		VolumeMounts: []corev1.VolumeMount{mount("socket", "/csi"), mount("registration", "/registration")},
		// The sockets that it meets are root's.
		SecurityContext: unprivileged(),
	}
	liveness := corev1.Container{
		Name: "csi-liveness-probe", Image: facts.Images[contract.CSILivenessProbe], Command: []string{"/bin/livenessprobe"},
		Args:            []string{"--csi-address=" + diskSocket, "--http-endpoint=" + diskHealth},
		Resources:       requests("5m", "10Mi"),
		VolumeMounts:    []corev1.VolumeMount{mount("socket", "/csi")},
		SecurityContext: unprivileged(),
	}
	set := daemonSet(diskNodeName, corev1.PodSpec{
		Containers: []corev1.Container{driver, registrar, liveness},
		Volumes: []corev1.Volume{
			hostPath("socket", diskSocketFolder), hostPath("kubelet", kubeletDir), hostPath("registration", registrationDir),
			hostPath("devices", "/dev"), hostPath("kubernetes", "/etc/kubernetes"),
		},
	})
	set.Namespace = contract.DriverNamespace
	set.Spec.Template.Spec.ServiceAccountName = access.DiskNodesAccount
	return set
}
