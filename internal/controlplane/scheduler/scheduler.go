// Package scheduler is the hosted kube-scheduler.
package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentbasev1alpha1 "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Name of the component, its Deployment and its ConfigMap.
const Name = contract.Scheduler

const (
	port       = 10259
	kubeconfig = "/etc/kubernetes/kubeconfig/kubeconfig"
)

// Component is kube-scheduler.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{"hyperkube"},
		DependsOn: []string{contract.APIServer},
		Traits:    component.Traits{Replicas: 2, WaitFor: component.WaitForAPIServer},
		Reloads:   component.Names(contract.SchedulerCertificate),
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	spec, err := clusterconfig.SchedulerOf(ctx.HCP)
	if err != nil {
		return nil, err
	}
	config, err := configuration(spec.Profile, !component.ProfilingDisabled(ctx.HCP, Name))
	if err != nil {
		return nil, err
	}
	gates, err := ctx.FeatureGateFlags()
	if err != nil {
		return nil, err
	}
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: Name}, Data: map[string]string{"config.json": config}},
		deployment(ctx, gates),
	}, nil
}

func configuration(profile string, profiling bool) (string, error) {
	profiles, err := profilesOf(profile)
	if err != nil {
		return "", err
	}
	config := &schedulerv1.KubeSchedulerConfiguration{
		Profiles:               profiles,
		DebuggingConfiguration: componentbasev1alpha1.DebuggingConfiguration{EnableProfiling: &profiling},
		ClientConnection:       componentbasev1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig},
		LeaderElection: componentbasev1alpha1.LeaderElectionConfiguration{
			LeaderElect: ptr.To(true), LeaseDuration: seconds(137), RenewDeadline: seconds(107), RetryPeriod: seconds(26),
		},
	}
	config.SetGroupVersionKind(schedulerv1.SchemeGroupVersion.WithKind("KubeSchedulerConfiguration"))
	fields, err := kube.Compact(config)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return "", fmt.Errorf("render the scheduler's configuration: %w", err)
	}
	return string(text), nil
}

func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }

func deployment(ctx *component.Context, gates []string) *appsv1.Deployment {
	args := slices.Concat([]string{"/bin/kube-scheduler",
		"--config=/etc/kubernetes/config/config.json",
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		fmt.Sprintf("--secure-port=%d", port),
		"--v=2",
	}, ctx.TLSFlags("/etc/kubernetes/certs/server"), gates)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: Name, Image: ctx.Image("hyperkube"), Command: args,
				Ports:          []corev1.ContainerPort{{Name: "client", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
				Resources:      component.Requests("25m", "150Mi"),
				StartupProbe:   component.HTTPSProbe("/livez", port, 1, 5, 120),
				LivenessProbe:  component.HTTPSProbe("/livez", port, 60, 5, 5),
				ReadinessProbe: component.HTTPSProbe("/readyz", port, 10, 5, 3),
				VolumeMounts: []corev1.VolumeMount{
					component.Mount("kubeconfig:/etc/kubernetes/kubeconfig"), component.Mount("config:/etc/kubernetes/config"),
					component.Mount("server:/etc/kubernetes/certs/server"),
				},
			}},
			Volumes: []corev1.Volume{
				component.SecretVolume("kubeconfig", contract.SchedulerKubeconfig), component.ConfigMapVolume("config", Name),
				component.SecretVolume("server", contract.SchedulerCertificate),
			},
		}}},
	}
}
