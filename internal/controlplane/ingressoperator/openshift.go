package ingressoperator

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	operatorImage = contract.ImageIngressOperator
	tunnelProxy   = "http://127.0.0.1:8090"

	// Routers of two versions of HAProxy, of which users of the guest choose, in payloads that have them.
	olderRouter = "haproxy-router-haproxy28"
	newerRouter = "haproxy-router-haproxy32"
)

// OpenShiftComponent is the payload's own operator of the guest's routers and of their DNS records.
func OpenShiftComponent() component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{operatorImage},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Enabled: func(ctx *component.Context) bool {
			return component.HasCapability(ctx.HCP, hyperv1.OptionalCapability("Ingress"))
		},
		Traits:  component.Traits{Recreate: true},
		Objects: openShiftObjects,
	}
}

func openShiftObjects(ctx *component.Context) ([]client.Object, error) {
	env := component.Environment(contract.ReleaseVersionEnv, ctx.GuestVersion, "IMAGE", ctx.GuestImage(contract.ImageRouter), "CANARY_IMAGE", ctx.GuestImage(operatorImage), "KUBECONFIG", "/etc/kubernetes/kubeconfig",
		contract.HTTPProxyEnv, tunnelProxy, contract.HTTPSProxyEnv, tunnelProxy, contract.NoProxyEnv, contract.APIServer)
	if offersRouters(ctx) {
		env = append(env, component.Environment("HAPROXY_28_IMAGE", ctx.GuestImage(olderRouter), "HAPROXY_32_IMAGE", ctx.GuestImage(newerRouter), "DEFAULT_HAPROXY_VERSION", "3.2")...)
	}
	if ctx.HCP.Spec.FIPS {
		env = append(env, corev1.EnvVar{Name: "FIPS_ENABLED", Value: "true"})
	}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: Name, Image: ctx.Image(operatorImage), Command: []string{Name}, Env: env,
			Args: append([]string{"start", "--namespace", Account.Namespace, "--image", "$(IMAGE)", "--canary-image", "$(CANARY_IMAGE)",
				"--release-version", "$(RELEASE_VERSION)", "--metrics-listen-addr", "0.0.0.0:60000"}, chosenRouter(ctx)...),
			Ports:        []corev1.ContainerPort{component.TCPPort("metrics", 60000)},
			Resources:    component.Requests("10m", "80Mi"),
			VolumeMounts: []corev1.VolumeMount{component.Mount("service-account-kubeconfig:/etc/kubernetes")},
		}},
		Volumes: []corev1.Volume{component.SecretVolume("service-account-kubeconfig", pki.IngressOperator.Kubeconfig),
			component.SecretVolume("admin-kubeconfig", contract.ServiceKubeconfig)},
	}
	if azure := ctx.HCP.Spec.Platform.Azure; azure != nil && azure.AzureAuthenticationConfig.WorkloadIdentities != nil {
		component.AddTokenMinter(&spec, ctx.Settings.Image, Account)
	}
	component.AddHTTPSProxy(ctx, &spec, component.TunnelProxy{Kubeconfig: "admin-kubeconfig", Flags: []string{component.DirectToCloud}})
	component.AddAPIProber(&spec, ctx.Settings.Image, "service-account-kubeconfig", "route.openshift.io,v1,Route")
	d := component.NewDeployment(Name, spec)
	d.Spec.Template.Labels = map[string]string{"name": Name}
	return []client.Object{d}, nil
}

// offersRouters tells whether the operator knows several routers, and the guest's release has them.
func offersRouters(ctx *component.Context) bool {
	return ctx.AtLeast(5, 0) && ctx.GuestImage(olderRouter) != "" && ctx.GuestImage(newerRouter) != ""
}

// chosenRouter are the arguments of an operator that knows several routers.
func chosenRouter(ctx *component.Context) []string {
	if !offersRouters(ctx) {
		return nil
	}
	return []string{"--haproxy-image", "2.8=$(HAPROXY_28_IMAGE)", "--haproxy-image", "3.2=$(HAPROXY_32_IMAGE)",
		"--default-haproxy-version", "$(DEFAULT_HAPROXY_VERSION)"}
}
