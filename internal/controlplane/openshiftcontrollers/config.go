package openshiftcontrollers

import (
	"fmt"

	buildv1 "github.com/openshift/api/build/v1"
	configv1 "github.com/openshift/api/config/v1"
	openshiftcpv1 "github.com/openshift/api/openshiftcontrolplane/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// pullSecrets is the controller that gives accounts of the guest the credentials of its own registry: none where there is no registry.
const pullSecrets = "openshift.io/serviceaccount-pull-secrets"

func base(ctx *component.Context, address, lease string) openshiftcpv1.OpenShiftControllerManagerConfig {
	serving := ctx.ServingInfo(address, certs, clientCA+"/ca.crt")
	serving.BindNetwork = ""
	return openshiftcpv1.OpenShiftControllerManagerConfig{
		TypeMeta:       metav1.TypeMeta{Kind: "OpenShiftControllerManagerConfig", APIVersion: openshiftcpv1.GroupVersion.String()},
		ServingInfo:    &serving,
		LeaderElection: configv1.LeaderElection{Name: lease},
	}
}

// withClient is the form before 4.21: such programs find the guest by their configuration, those before 4.20 by it alone.
type withClient struct {
	openshiftcpv1.OpenShiftControllerManagerConfig `json:",inline"`

	KubeClientConfig configv1.KubeClientConfig `json:"kubeClientConfig"`
}

func render(ctx *component.Context, config openshiftcpv1.OpenShiftControllerManagerConfig) (string, error) {
	if ctx.AtLeast(4, 21) {
		return component.YAML(config)
	}
	return component.YAML(withClient{config, configv1.KubeClientConfig{KubeConfig: component.NetworkKubeconfig}})
}

func controllerManagerConfig(ctx *component.Context) (string, error) {
	config := base(ctx, fmt.Sprintf("0.0.0.0:%d", port), "openshift-master-controllers")
	gates, err := ctx.FeatureGates()
	if err != nil {
		return "", err
	}
	image, err := clusterconfig.ImageOf(ctx.HCP)
	if err != nil {
		return "", err
	}
	network, err := clusterconfig.NetworkOf(ctx.HCP)
	if err != nil {
		return "", err
	}
	config.FeatureGates = gates
	config.Build.ImageTemplateFormat.Format = ctx.Image(builderImage)
	config.Deployer.ImageTemplateFormat.Format = ctx.Image(deployImage)
	config.DockerPullSecret.RegistryURLs = image.ExternalRegistryHostnames
	if component.HasCapability(ctx.HCP, hyperv1.OptionalCapability("ImageRegistry")) {
		config.DockerPullSecret.InternalRegistryHostname = component.InternalRegistry
	} else {
		config.Controllers = []string{"*", "-" + pullSecrets}
	}
	if external := network.ExternalIP; external != nil && len(external.AutoAssignCIDRs) > 0 {
		config.Ingress.IngressIPNetworkCIDR = external.AutoAssignCIDRs[0]
	}
	if err := setBuilds(ctx, &config.Build); err != nil {
		return "", err
	}
	return render(ctx, config)
}

// setBuilds takes over what the guest's Build says of all builds.
func setBuilds(ctx *component.Context, into *openshiftcpv1.BuildControllerConfig) error {
	build := configv1.Build{}
	if err := ctx.Observed("build", &build); err != nil {
		return err
	}
	d := build.Spec.BuildDefaults
	defaults := openshiftcpv1.BuildDefaultsConfig{Env: d.Env, Resources: d.Resources}
	if d.GitProxy != nil && d.DefaultProxy != nil {
		// As HyperShift has it: gitProxy turns it on, and the values are those of defaultProxy.
		defaults.GitHTTPProxy, defaults.GitHTTPSProxy, defaults.GitNoProxy = d.DefaultProxy.HTTPProxy, d.DefaultProxy.HTTPSProxy, d.DefaultProxy.NoProxy
	}
	defaults.ImageLabels = labels(d.ImageLabels)
	git := defaults.GitHTTPProxy != "" || defaults.GitHTTPSProxy != "" || defaults.GitNoProxy != ""
	if git || len(defaults.Env) > 0 || len(defaults.ImageLabels) > 0 || len(d.Resources.Limits) > 0 || len(d.Resources.Requests) > 0 {
		into.BuildDefaults = &defaults
	}
	o := build.Spec.BuildOverrides
	if o.ForcePull != nil || len(o.ImageLabels) > 0 || len(o.NodeSelector) > 0 || len(o.Tolerations) > 0 {
		into.BuildOverrides = &openshiftcpv1.BuildOverridesConfig{ForcePull: o.ForcePull, ImageLabels: labels(o.ImageLabels),
			NodeSelector: o.NodeSelector, Tolerations: o.Tolerations}
	}
	return nil
}

func labels(of []configv1.ImageLabel) (out []buildv1.ImageLabel) {
	for _, l := range of {
		out = append(out, buildv1.ImageLabel{Name: l.Name, Value: l.Value})
	}
	return out
}

func routeManagerConfig(ctx *component.Context) (string, error) {
	return render(ctx, base(ctx, fmt.Sprintf("0.0.0.0:%d", port), contract.RouteControllers))
}

func policyControllerConfig(ctx *component.Context) (string, error) {
	gates, err := ctx.FeatureGates()
	if err != nil {
		return "", err
	}
	config := base(ctx, fmt.Sprintf("0.0.0.0:%d", policyPort), "")
	config.FeatureGates = gates
	config.ServingInfo.BindNetwork = "tcp"
	return render(ctx, config)
}
