// Package storageoperator has OpenShift's two operators of storage: one makes the drivers of Azure's disks and files, the other the
// controller of snapshots. Of what they make, controllers run beside the control plane.
package storageoperator

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/cloudprovider"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Names of the components, their Deployments and accounts.
const (
	Name      = contract.StorageOperator
	Snapshots = contract.SnapshotOperator
)

const (
	snapshotsImage = contract.ImageSnapshotOperator

	configDir  = "/var/run/configmaps/config"
	configFile = configDir + "/config.yaml"
	servingDir = "/var/run/secrets/serving-cert"
	guest      = "/etc/guest-kubeconfig"

	hypershift = "hypershift.openshift.io"
)

// drivers of Azure's storage.
var drivers = []string{contract.DiskDriver, contract.FileDriver}

// Component is the cluster-storage-operator.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: append([]string{Name}, controlPlaneImages()...),
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Traits:    component.Traits{ManagementAccess: true},
		Operands: func(ctx *component.Context) []component.Operand {
			if ctx.HCP.Spec.Platform.Type != hyperv1.AzurePlatform {
				return nil
			}
			var out []component.Operand
			for _, driver := range drivers {
				out = append(out, component.Operand{Deployment: driver + "-operator", Container: driver + "-operator", ImageKey: driver + "-operator"},
					component.Operand{Deployment: driver + "-controller", Container: "csi-driver", ImageKey: driver})
			}
			return out
		},
		Objects: objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	d, config, err := operator(ctx, Name, corev1.Container{
		Image: ctx.Image(Name), Command: []string{Name, "start"}, Resources: component.Requests("10m", "20Mi"),
		Ports: []corev1.ContainerPort{component.TCPPort("metrics", 8443)},
		Env:   append(images(ctx), ctx.Settings.ManagementProxy()...),
	}, "operator.openshift.io,v1,Storage")
	if err != nil {
		return nil, err
	}
	d.Spec.Template.Annotations["openshift.io/required-scc"] = "restricted-v2"
	rights := component.Access(Name, ctx.Namespace(),
		rbac.Rule("coordination.k8s.io", rbac.All, "leases"),
		rbac.Rule("apps", rbac.All, "deployments", "replicasets"),
		rbac.Rule("policy", rbac.All, "poddisruptionbudgets"),
		rbac.Rule("", rbac.All, "serviceaccounts", "services", "configmaps", "pods", "secrets", "events", "endpoints"),
		rbac.Rule("rbac.authorization.k8s.io", "watch,list,get,create,delete,patch,update", "roles", "rolebindings"),
		rbac.Rule(hypershift, "watch,list,get", "hostedcontrolplanes"))
	credentials, err := cloudConfigs(ctx.HCP)
	if err != nil {
		return nil, err
	}
	return slices.Concat(rights, credentials, config, []client.Object{d}), nil
}

// cloudConfigs are how the drivers reach Azure.
func cloudConfigs(hcp *hyperv1.HostedControlPlane) ([]client.Object, error) {
	azure := hcp.Spec.Platform.Azure
	if azure == nil || azure.AzureAuthenticationConfig.WorkloadIdentities == nil {
		return nil, nil
	}
	var out []client.Object
	identities := azure.AzureAuthenticationConfig.WorkloadIdentities
	for _, d := range []struct {
		secret   string
		identity hyperv1.WorkloadIdentity
	}{{contract.DiskConfig, identities.Disk}, {contract.FileConfig, identities.File}} {
		text, err := cloudprovider.DriverConfig(azure, d.identity)
		if err != nil {
			return nil, err
		}
		out = append(out, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: d.secret}, Data: map[string][]byte{contract.CloudConfigKey: []byte(text)}})
	}
	return out, nil
}

// SnapshotsComponent is the csi-snapshot-controller-operator.
func SnapshotsComponent() component.Component {
	return component.Component{
		Name:      Snapshots,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{snapshotsImage, contract.SnapshotController},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Traits:    component.Traits{ManagementAccess: true},
		Operands: func(*component.Context) []component.Operand {
			return []component.Operand{{Deployment: contract.SnapshotController, Container: "snapshot-controller", ImageKey: contract.SnapshotController}}
		},
		Objects: snapshotObjects,
	}
}

func snapshotObjects(ctx *component.Context) ([]client.Object, error) {
	env := append(component.Environment("OPERAND_IMAGE", ctx.Image(contract.SnapshotController)), component.FromField(contract.PodNameEnv, "metadata.name"))
	d, config, err := operator(ctx, Snapshots, corev1.Container{Image: ctx.Image(snapshotsImage), Resources: component.Requests("10m", "65Mi"), Env: env},
		"operator.openshift.io,v1,CSISnapshotController")
	if err != nil {
		return nil, err
	}
	rights := component.AccessOf(Snapshots, Snapshots+"-role", ctx.Namespace(),
		rbac.Rule("coordination.k8s.io", "get,list,watch,create,update,patch", "leases"),
		rbac.Rule("apps", rbac.Write, "deployments", "replicasets"),
		rbac.Rule("policy", rbac.Write, "poddisruptionbudgets"),
		rbac.Rule("", rbac.Write, "serviceaccounts", "services", "configmaps"),
		rbac.Rule("", rbac.Read, "pods"),
		rbac.Rule("", "list,watch", "secrets"),
		rbac.Rule("", "create,patch,update", "events"),
		rbac.Rule(hypershift, "watch,list,get", "hostedcontrolplanes"))
	return slices.Concat(rights, config, []client.Object{d}), nil
}

// operator completes either program: both are told of their serving and of the guest alike.
func operator(ctx *component.Context, name string, c corev1.Container, api string) (*appsv1.Deployment, []client.Object, error) {
	c.Name = name
	c.Args = []string{"start", "-v=2", "--terminate-on-files=" + servingDir + "/tls.crt", "--terminate-on-files=" + servingDir + "/tls.key",
		"--guest-kubeconfig=" + guest + "/kubeconfig"}
	c.Env = append(component.Environment(contract.OperatorImageVersionEnv, ctx.GuestVersion, "OPERAND_IMAGE_VERSION", ctx.GuestVersion), c.Env...)
	c.Env = append(c.Env, ctx.Settings.RunAsUser()...)
	c.VolumeMounts = []corev1.VolumeMount{component.Mount("guest-kubeconfig:" + guest), component.Mount("serving-cert:" + servingDir)}
	spec := corev1.PodSpec{Containers: []corev1.Container{c}, Volumes: []corev1.Volume{
		component.SecretVolume("guest-kubeconfig", contract.ServiceKubeconfig), component.SecretVolume("serving-cert", name+"-serving-cert")}}
	config, err := serve(ctx, name, &spec)
	if err != nil {
		return nil, nil, err
	}
	component.AddAPIProber(&spec, ctx.Settings.Image, "guest-kubeconfig", api)
	d := component.NewDeployment(name, spec)
	d.Spec.Template.Annotations = component.ManagementWorkload()
	return d, config, nil
}

// serve says in a file how the program serves. Those before 5.0 read none, and find their certificate where it is mounted.
func serve(ctx *component.Context, name string, spec *corev1.PodSpec) ([]client.Object, error) {
	if !ctx.AtLeast(5, 0) {
		return nil, nil
	}
	config, err := ctx.GenericControllerConfig("0.0.0.0:8443")
	if err != nil {
		return nil, err
	}
	c := &spec.Containers[0]
	c.Args = append(c.Args, "--config="+configFile, "--terminate-on-files="+configFile)
	c.VolumeMounts = append(c.VolumeMounts, component.Mount("config:"+configDir))
	spec.Volumes = append(spec.Volumes, component.ConfigMapVolume("config", name+"-config"))
	return []client.Object{component.NewConfigMap(name+"-config", map[string]string{"config.yaml": config})}, nil
}
