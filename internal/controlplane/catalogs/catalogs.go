// Package catalogs has OpenShift's default catalogs of operators, where they run beside the control plane and not in the guest.
package catalogs

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

const (
	// copierImage has the program that takes a catalog out of its image.
	copierImage = contract.ImageLifecycleManager
	suffix      = "-catalog"
	port        = 50051

	content = "/extracted-catalog/catalog"
	cache   = "/extracted-catalog/cache"

	extractContent = "extract-content"
	selector       = "olm.catalogSource"
)

// memory that a server of a catalog asks for.
var memory = map[string]string{catalog.RedHat: "420Mi", catalog.Community: "160Mi", catalog.Certified: "160Mi", catalog.Marketplace: "160Mi"}

// Component is the catalog of the name.
func Component(name string) component.Component {
	return component.Component{
		Name:      name + suffix,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{copierImage},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Enabled: func(ctx *component.Context) bool {
			return catalog.InControlPlane(ctx.HCP) && catalog.Has(ctx.HCP, ctx.GuestVersion, name)
		},
		// An image of a catalog has a cache below /tmp, which is taken out.
		Traits:  component.Traits{OwnTmp: []string{extractContent}},
		Objects: func(ctx *component.Context) ([]client.Object, error) { return objects(ctx, name) },
	}
}

func objects(ctx *component.Context, name string) ([]client.Object, error) {
	image, err := ctx.Catalog(name)
	if err != nil {
		return nil, &component.WaitingError{For: err}
	}
	utilities, extracted := component.EmptyDirVolume("utilities"), component.EmptyDirVolume("catalog-content")
	into := func(v corev1.Volume, path string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: v.Name, MountPath: path}
	}
	spec := corev1.PodSpec{
		NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
		InitContainers: []corev1.Container{
			{
				Name: "extract-utilities", Image: ctx.Image(copierImage), Command: []string{"cp"}, Args: []string{"/bin/copy-content", "/utilities/copy-content"},
				Resources: component.Requests("10m", "10Mi"), VolumeMounts: []corev1.VolumeMount{into(utilities, "/utilities")},
			},
			{
				Name: extractContent, Image: image, Command: []string{"/utilities/copy-content"},
				Args:      []string{"--catalog.from=/configs", "--catalog.to=" + content, "--cache.from=/tmp/cache", "--cache.to=" + cache},
				Resources: component.Requests("10m", "10Mi"), VolumeMounts: []corev1.VolumeMount{into(utilities, "/utilities"), into(extracted, "/extracted-catalog")},
			},
		},
		Containers: []corev1.Container{{
			Name: "registry", Image: image, Command: []string{"/bin/opm"}, Args: []string{"serve", content, "--cache-dir=" + cache},
			Ports: []corev1.ContainerPort{component.TCPPort("grpc", port)}, Resources: component.Requests("10m", memory[name]),
			LivenessProbe: component.After(10, answers(1, 3)), ReadinessProbe: component.After(5, answers(5, 3)), StartupProbe: answers(1, 15),
			VolumeMounts: []corev1.VolumeMount{into(extracted, "/extracted-catalog")},
		}},
		Volumes: []corev1.Volume{utilities, extracted},
	}
	d := component.NewDeployment(name+suffix, spec)
	d.Spec.Template.Labels = map[string]string{selector: name}
	service := component.NewService(name, port, port)
	service.Spec.Selector, service.Spec.Ports[0].Name = map[string]string{selector: name}, "grpc"
	return []client.Object{d, service}, nil
}

// answers asks the server for its health every ten seconds.
func answers(timeout, failures int32) *corev1.Probe {
	return &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: timeout, FailureThreshold: failures, ProbeHandler: corev1.ProbeHandler{
		Exec: &corev1.ExecAction{Command: []string{"grpc_health_probe", "-addr=:50051"}}}}
}
