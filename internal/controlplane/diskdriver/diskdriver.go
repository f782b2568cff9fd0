// Package diskdriver is the controller half of the driver of Azure's disks: volumes of the guest's claims, their attachment to
// machines, their growth and their snapshots.
package diskdriver

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component and its Deployment.
const Name = "azure-disk-csi-driver-controller"

// Images of the payload that the pod is made of.
const (
	driverImage      = contract.DiskDriver
	provisionerImage = contract.ImageProvisioner
	attacherImage    = contract.ImageAttacher
	resizerImage     = contract.ImageResizer
	snapshotterImage = contract.ImageSnapshotter
	snapshotsImage   = contract.SnapshotController
	livenessImage    = contract.CSILivenessProbe
)

const (
	configName = contract.DiskConfig
	configKey  = contract.CloudConfigKey
	kubeconfig = "/etc/kubernetes/kubeconfig/kubeconfig"
	socketDir  = "/csi"
	socket     = socketDir + "/csi.sock"
	healthPort = 29602
)

// Account is the guest service account that the disk identity is federated with, and as which the pod works in the guest.
var Account = component.Token{Namespace: pki.DiskDriver.Namespace, ServiceAccount: pki.DiskDriver.Name, Kubeconfig: pki.DiskDriver.Kubeconfig}

// Component is the driver's controller on platform Azure, where the payload has it. A payload with a storage operator of OpenShift's
// brings it by that.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindKubernetes,
		ImageKeys: []string{driverImage, provisionerImage, attacherImage, resizerImage, snapshotterImage, snapshotsImage, livenessImage},
		Optional:  true,
		DependsOn: []string{contract.APIServer},
		Enabled: func(ctx *component.Context) bool {
			azure := ctx.HCP.Spec.Platform.Azure
			return azure != nil && azure.AzureAuthenticationConfig.WorkloadIdentities != nil && ctx.Image(contract.StorageOperator) == ""
		},
		// What two of them do at the same time is the same at Azure, but twice.
		Traits:  component.Traits{ReachesCloud: true, Recreate: true},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	text, err := config(ctx.HCP.Spec.Platform.Azure)
	if err != nil {
		return nil, err
	}
	return []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: configName}, Data: map[string][]byte{configKey: []byte(text)}},
		component.CloudAccount(Name, ctx.HCP, ctx.HCP.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities.Disk),
		deployment(ctx),
	}, nil
}

func deployment(ctx *component.Context) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{component.AccessProber(ctx.Settings.Image, "kubeconfig", access.DiskDriverAccess)},
			Containers:     containers(ctx),
			Volumes: []corev1.Volume{
				component.SecretVolume("kubeconfig", pki.DiskDriver.Kubeconfig), component.SecretVolume("cloud-config", configName),
				component.EmptyDirVolume("socket-dir"),
			},
		}}},
	}
	component.AddTokenMinter(&d.Spec.Template.Spec, ctx.Settings.Image, Account)
	return d
}

func containers(ctx *component.Context) []corev1.Container {
	driver := sidecar(ctx, "csi-driver", driverImage, "azurediskplugin",
		"--endpoint=unix://"+socket, "--kubeconfig="+kubeconfig, "--cloud-config-secret-name=", "--cloud-config-secret-namespace=",
		"--allow-empty-cloud-config=false", "--vm-type="+vmType, "--disable-avset-nodes=false", "--enable-migration-monitor=false", "--v=2")
	driver.Env = []corev1.EnvVar{{Name: contract.AzureCredentialFileEnv, Value: "/etc/cloud/" + configKey}}
	driver.VolumeMounts = append(driver.VolumeMounts, component.Mount("cloud-config:/etc/cloud"))
	driver.Resources = component.Requests("10m", "50Mi")
	driver.Ports = []corev1.ContainerPort{{Name: "healthz", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP}}
	driver.LivenessProbe = &corev1.Probe{InitialDelaySeconds: 10, PeriodSeconds: 30, TimeoutSeconds: 10, FailureThreshold: 5,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(healthPort)}}}

	beside := func(name, image, program string, args ...string) corev1.Container {
		return sidecar(ctx, name, image, program, append(append([]string{"--csi-address=" + socket, "--kubeconfig=" + kubeconfig}, args...), elections(ctx)...)...)
	}
	snapshots := sidecar(ctx, "snapshot-controller", snapshotsImage, "snapshot-controller", append([]string{"--kubeconfig=" + kubeconfig, "--v=2"}, elections(ctx)...)...)
	return []corev1.Container{
		driver,
		beside("csi-provisioner", provisionerImage, "csi-provisioner", "--feature-gates=Topology=true", "--default-fstype=ext4", "--extra-create-metadata=true",
			"--strict-topology=true", "--timeout=30s", "--worker-threads=100", "--kube-api-qps=50", "--kube-api-burst=100", "--retry-interval-max=30m", "--v=2"),
		beside("csi-attacher", attacherImage, "csi-attacher", "--timeout=1200s", "--worker-threads=1000", "--kube-api-qps=200", "--kube-api-burst=400", "--v=2"),
		beside("csi-resizer", resizerImage, "csi-resizer", "--timeout=240s", "--handle-volume-inuse-error=false", "--feature-gates=RecoverVolumeExpansionFailure=true", "--v=2"),
		beside("csi-snapshotter", snapshotterImage, "csi-snapshotter", "--timeout=600s", "--worker-threads=250", "--v=2"),
		// One driver makes snapshots here: what is common to all drivers' runs beside it.
		snapshots,
		sidecar(ctx, "csi-liveness-probe", livenessImage, "livenessprobe", "--csi-address="+socket, "--probe-timeout=3s", "--http-endpoint=:29602"),
	}
}

// elections: one pod does the work. Where there are several management nodes, the pod of one that is lost may still run when the next
// is started.
func elections(ctx *component.Context) []string {
	if !ctx.HighlyAvailable() {
		return nil
	}
	return []string{"--leader-election=true", "--leader-election-namespace=" + pki.DiskDriver.Namespace,
		"--leader-election-lease-duration=137s", "--leader-election-renew-deadline=107s", "--leader-election-retry-period=26s"}
}

// sidecar is a container of the pod: all of them meet at the driver's socket.
func sidecar(ctx *component.Context, name, image, program string, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: ctx.Image(image), Command: append([]string{"/bin/" + program}, args...),
		Resources: component.Requests("10m", "20Mi"),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "socket-dir", MountPath: socketDir}, component.Mount("kubeconfig:/etc/kubernetes/kubeconfig"),
		},
	}
}
