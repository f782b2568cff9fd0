// Package versionmigrator is kube-storage-version-migrator, which writes objects of the guest anew for whoever asks it to by a StorageVersionMigration.
package versionmigrator

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and its image.
const Name = contract.VersionMigrator

// Component is the migrator, where Secrets are encrypted.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{Name},
		DependsOn: []string{contract.APIServer},
		Enabled:   func(ctx *component.Context) bool { return ctx.HCP.Spec.SecretEncryption != nil },
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "migrator", Image: ctx.Image(Name), Command: []string{"migrator"},
			Args:      []string{"--alsologtostderr", "--v=2", "--kubeconfig=/etc/kubernetes/kubeconfig"},
			Env:       []corev1.EnvVar{component.FromField(contract.PodNameEnv, "metadata.name"), component.FromField(contract.PodNamespaceEnv, "metadata.namespace")},
			Resources: component.Requests("10m", "200Mi"), VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/kubernetes")},
		}},
		Volumes: []corev1.Volume{component.NetworkKubeconfigVolume()},
	}
	return []client.Object{component.NewDeployment(Name, spec)}, nil
}
