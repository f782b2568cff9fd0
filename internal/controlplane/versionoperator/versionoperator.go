// Package versionoperator is OpenShift's cluster-version-operator with what makes the payload fit a hosted control plane: manifests of
// programs that run outside of the guest are taken out, and what such manifests once made is cleaned up.
package versionoperator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment, its Service and its payload image.
const Name = contract.VersionOperator

const (
	port    = 8443
	payload = "/var/payload"
	// profile is OpenShift's name for clusters whose control plane runs elsewhere.
	profile = contract.ClusterProfile
)

// Component is the cluster-version-operator. A payload that has no image of its name brings it in the release image itself.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{component.ToolsImage},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Traits:    component.Traits{WaitFor: component.WaitForAPIServer},
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	version, err := clusterVersion(ctx.HCP)
	if err != nil {
		return nil, err
	}
	cleanup, err := cleanupManifest()
	if err != nil {
		return nil, err
	}
	service := component.NewService(Name, port, port)
	service.Spec.Selector[contract.AppLabel] = Name
	d := component.NewDeployment(Name, pod(ctx, version, cleanup))
	d.Spec.Template.Labels = map[string]string{contract.AppLabel: Name}
	return []client.Object{service, d}, nil
}

func pod(ctx *component.Context, version, cleanup string) corev1.PodSpec {
	image := ctx.Image(Name)
	if image == "" {
		image = ctx.ReleaseImage
	}
	return corev1.PodSpec{
		InitContainers: []corev1.Container{
			{
				Name: "prepare-payload", Image: ctx.ReleaseImage,
				Command: append([]string{"/bin/bash", "-c", prepare, "prepare-payload", payload, featureSet(ctx.HCP)}, left(ctx.HCP)...),
				Env:     component.Environment("CLEANUP_MANIFEST", cleanup), Resources: component.Requests("10m", "20Mi"),
				VolumeMounts: []corev1.VolumeMount{{Name: "payload", MountPath: payload}},
			},
			{
				Name: "bootstrap", Image: ctx.Image(component.ToolsImage),
				Command:      []string{"/bin/bash", "-c", bootstrap, "bootstrap", payload},
				Env:          component.Environment("KUBECONFIG", "/etc/kubernetes/kubeconfig", "CLUSTER_VERSION_JSON", version),
				Resources:    component.Requests("10m", "10Mi"),
				VolumeMounts: []corev1.VolumeMount{{Name: "payload", MountPath: payload}, component.Mount("kubeconfig:/etc/kubernetes")},
			},
		},
		Containers: []corev1.Container{{
			Name: Name, Image: image, Command: []string{Name}, Args: args(ctx),
			Env: append(component.Environment("PAYLOAD_OVERRIDE", payload, "CLUSTER_PROFILE", profile, "RELEASE_IMAGE", ctx.GuestReleaseImage),
				component.FromField(contract.NodeNameEnv, "spec.nodeName")),
			Ports:     []corev1.ContainerPort{component.TCPPort("https", port)},
			Resources: component.Requests("20m", "70Mi"),
			VolumeMounts: []corev1.VolumeMount{component.Mount("kubeconfig:/etc/openshift/kubeconfig"), {Name: "payload", MountPath: payload},
				{Name: "update-payloads", MountPath: "/etc/cvo/updatepayloads"}, component.Mount("server-crt:/etc/kubernetes/certs/server")},
		}},
		Volumes: []corev1.Volume{component.NetworkKubeconfigVolume(), component.EmptyDirVolume("payload"), component.EmptyDirVolume("update-payloads"),
			component.SecretVolume("server-crt", contract.VersionOperatorCertificate)},
	}
}

func args(ctx *component.Context) []string {
	out := []string{"start", "--release-image", "$(RELEASE_IMAGE)", "--enable-auto-update=false", "--kubeconfig", "/etc/openshift/kubeconfig/kubeconfig",
		fmt.Sprintf("--listen=0.0.0.0:%d", port), "--serving-cert-file=/etc/kubernetes/certs/server/tls.crt",
		"--serving-key-file=/etc/kubernetes/certs/server/tls.key", "--hypershift=true", "--v=4"}
	out = append(out, ctx.Since(5, 0, ctx.TLSProfile()...)...)
	if service := ctx.HCP.Spec.UpdateService; service != "" {
		out = append(out, "--update-service", service)
	}
	return out
}

func featureSet(hcp *hyperv1.HostedControlPlane) string {
	if c := hcp.Spec.Configuration; c != nil && c.FeatureGate != nil && c.FeatureGate.FeatureSet != "" {
		return string(c.FeatureGate.FeatureSet)
	}
	return "Default"
}

// left are the manifests of the release that nobody applies.
func left(hcp *hyperv1.HostedControlPlane) []string {
	var files []string
	for _, prefix := range slices.Sorted(maps.Keys(omitted)) {
		for _, rest := range omitted[prefix] {
			files = append(files, prefix+rest+".yaml")
		}
	}
	if !clusterconfig.OAuthEnabled(hcp) {
		files = append(files, "0000_50_console-operator_01-oauth.yaml")
	}
	return files
}

// clusterVersion is the object with which the operator begins.
func clusterVersion(hcp *hyperv1.HostedControlPlane) (string, error) {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": map[string]any{"name": "version"},
		"spec": map[string]any{
			"clusterID":    hcp.Spec.ClusterID,
			"capabilities": map[string]any{"baselineCapabilitySet": "None", "additionalEnabledCapabilities": clusterconfig.Capabilities(hcp.Spec.Capabilities)},
		},
	})
	if err != nil {
		return "", fmt.Errorf("render the ClusterVersion: %w", err)
	}
	return string(text), nil
}
