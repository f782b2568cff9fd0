// Package featuregates has a program of the payload render which feature gates its version has, which all other programs are told.
package featuregates

import (
	configv1 "github.com/openshift/api/config/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Job and its account.
const Name = "featuregate-generator"

// Render has the payload's program render into $1/manifests what $FEATURE_GATE_YAML makes of $PAYLOAD_VERSION, and of the cluster's profile.
const Render = `set -euo pipefail
cd "$1"
mkdir -p input output manifests
printf '%s' "$FEATURE_GATE_YAML" >manifests/99_feature-gate.yaml
/usr/bin/render --asset-output-dir "$1/output" --rendered-manifest-dir="$1/manifests" --cluster-profile=ibm-cloud-managed --payload-version="$PAYLOAD_VERSION"
`

const copyManifests = `cp "$1"/manifests/* /output/
`

// Component is the featuregate-generator.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{contract.ImageConfigAPI},
		Traits:    component.Traits{ManagementAccess: true},
		Runs:      component.Once,
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	env, err := Environment(ctx)
	if err != nil {
		return nil, err
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: Name}, Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](5)}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		InitContainers: []corev1.Container{{
			Name: "render-feature-gates", Image: ctx.Image(contract.ImageConfigAPI), Command: []string{"/bin/bash", "-c", Render + copyManifests, "render", "/work"},
			Env: env, Resources: component.Requests("30m", "50Mi"),
			VolumeMounts: []corev1.VolumeMount{{Name: "work", MountPath: "/work"}, {Name: "manifests", MountPath: "/output"}},
		}},
		Containers: []corev1.Container{{
			Name: "apply", Image: ctx.Settings.Image, Command: []string{component.Binary, contract.CommandSyncFeatureGates},
			Env:          append(component.Environment(contract.PayloadVersionEnv, ctx.GuestVersion), component.FromField("NAMESPACE", "metadata.namespace")),
			Resources:    component.Requests("10m", "20Mi"),
			VolumeMounts: []corev1.VolumeMount{component.Mount("manifests:/manifests")},
		}},
		Volumes: []corev1.Volume{component.EmptyDirVolume("work"), component.EmptyDirVolume("manifests")},
	}
	gates := rbac.Named(rbac.Rule("", "create,patch", "configmaps"), contract.FeatureGate)
	return append(component.Access(Name, ctx.Namespace(), gates), job), nil
}

// Environment tells Render what the user wants of the gates, and which version they are of.
func Environment(ctx *component.Context) ([]corev1.EnvVar, error) {
	gate := configv1.FeatureGate{TypeMeta: metav1.TypeMeta{Kind: "FeatureGate", APIVersion: configv1.GroupVersion.String()}, ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	if c := ctx.HCP.Spec.Configuration; c != nil && c.FeatureGate != nil {
		gate.Spec.FeatureSet = configv1.FeatureSet(c.FeatureGate.FeatureSet)
		if custom := c.FeatureGate.CustomNoUpgrade; custom != nil {
			gate.Spec.CustomNoUpgrade = &configv1.CustomFeatureGates{Enabled: names(custom.Enabled), Disabled: names(custom.Disabled)}
		}
	}
	text, err := component.YAML(gate)
	if err != nil {
		return nil, err
	}
	return component.Environment("FEATURE_GATE_YAML", text, contract.PayloadVersionEnv, ctx.GuestVersion), nil
}

func names(gates []string) []configv1.FeatureGateName {
	var out []configv1.FeatureGateName
	for _, g := range gates {
		out = append(out, configv1.FeatureGateName(g))
	}
	return out
}
