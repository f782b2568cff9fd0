package twin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// managementKubeconfig leads the network's operator to the management cluster; others go by their account.
	managementKubeconfig = "/configs/management"
)

// operate keeps the program's operands until ctx ends, with the rights that its account has.
func (p Program) operate(ctx context.Context, s Start) error {
	config, err := rest.InClusterConfig()
	if slices.Contains(p.Reaches, managementKubeconfig) {
		config, err = clientcmd.BuildConfigFromFlags("", managementKubeconfig)
	}
	namespace, readErr := os.ReadFile(accountDir + "/namespace")
	if err = errors.Join(err, readErr); err != nil {
		return fmt.Errorf("twin: operands: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("twin: operands: %w", err)
	}
	for {
		for _, o := range p.Operands {
			if err := keep(ctx, c, o.of(strings.TrimSpace(string(namespace)), s.Env[o.Image])); err != nil {
				slog.Error("twin: operand", "deployment", o.Deployment, "error", err.Error())
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// of is the operand as a Deployment that does nothing.
func (o Operand) of(namespace, image string) *appsv1.Deployment {
	labels := map[string]string{"app": o.Deployment, "twin": "operand"}
	container := corev1.Container{
		Name: o.Container, Image: image, Command: []string{"/bin/sh", "-c", "exec sleep infinity"},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("2Mi")}},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: o.Deployment, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To[int64](1), AutomountServiceAccountToken: ptr.To(false), Containers: []corev1.Container{container},
				ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull-secret"}},
				SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1001),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}}},
		},
	}
}

// keep makes the Deployment, or gives it another image.
func keep(ctx context.Context, c client.Client, want *appsv1.Deployment) error {
	live := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKeyFromObject(want), live)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err != nil {
		return c.Create(ctx, want)
	}
	if live.Spec.Template.Spec.Containers[0].Image == want.Spec.Template.Spec.Containers[0].Image {
		return nil
	}
	live.Spec.Template.Spec.Containers = want.Spec.Template.Spec.Containers
	return c.Update(ctx, live)
}
