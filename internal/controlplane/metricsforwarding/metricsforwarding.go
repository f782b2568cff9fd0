// Package metricsforwarding has the programs by which a hosted cluster's own monitoring reads the metrics of its control plane: the proxy that it
// asks, which has no rights, and the resolver that tells the proxy where pods are.
package metricsforwarding

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/endpointresolver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/metricsproxy"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	resolverPort = 9444
	resolverDir  = "/etc/" + endpointresolver.Name + "/serving-cert"
	proxyDir     = "/etc/" + metricsproxy.Name
	certsDir     = proxyDir + "/certs"
)

// ResolverComponent is the endpoint-resolver.
func ResolverComponent() component.Component {
	return component.Component{
		Name: endpointresolver.Name, Kind: release.KindOpenShift, Enabled: (*component.Context).ForwardsMetrics,
		Traits: component.Traits{Replicas: 2, ManagementAccess: true}, Objects: resolver,
	}
}

func resolver(ctx *component.Context) ([]client.Object, error) {
	objects := component.Access(endpointresolver.Name, ctx.Namespace(), rbac.Rule("", rbac.Read, "pods"))
	d := component.NewDeployment(endpointresolver.Name, corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](10),
		Containers: []corev1.Container{{
			Name: endpointresolver.Name, Image: ctx.Settings.Image,
			Command: []string{component.Binary, endpointresolver.Name, "--tls-cert-file=" + resolverDir + "/tls.crt", "--tls-key-file=" + resolverDir + "/tls.key"},
			Env:     []corev1.EnvVar{component.FromField(contract.NamespaceEnv, "metadata.namespace")}, Resources: component.Requests("5m", "20Mi"),
			Ports:          []corev1.ContainerPort{component.TCPPort("https", resolverPort)},
			LivenessProbe:  component.After(30, component.HTTPSProbe("/healthz", resolverPort, 30, 5, 6)),
			ReadinessProbe: component.HTTPSProbe("/healthz", resolverPort, 10, 5, 3),
			VolumeMounts:   []corev1.VolumeMount{component.Mount("serving-cert:" + resolverDir)},
		}},
		Volumes: []corev1.Volume{component.SecretVolume("serving-cert", endpointresolver.Name+"-serving-cert")},
	})
	return append(objects, component.NewService(endpointresolver.Name, 443, resolverPort), d), nil
}

// ProxyComponent is the metrics-proxy.
func ProxyComponent(endpoints publish.Endpoints) component.Component {
	return component.Component{
		Name: metricsproxy.Name, Kind: release.KindOpenShift, Enabled: (*component.Context).ForwardsMetrics,
		DependsOn: []string{contract.APIServer, endpointresolver.Name},
		Traits:    component.Traits{Replicas: 2, RequestServing: true},
		Objects:   func(ctx *component.Context) ([]client.Object, error) { return proxy(ctx, endpoints.Metrics.Host) },
	}
}

func proxy(ctx *component.Context, host string) ([]client.Object, error) {
	ports := portReader{Context: ctx}
	forwarded, authorities, clients := monitor.Forward(ctx.Namespace(), certsDir, ports.of)
	if ports.err != nil {
		return nil, ports.err
	}
	authority, err := ctx.Secret(contract.MetricsProxyCA)
	if err != nil {
		return nil, err
	}
	config, err := component.YAML(monitor.Proxy{
		EndpointResolver: monitor.Resolver{URL: "https://" + endpointresolver.Name + "." + ctx.Namespace() + ".svc", CAFile: certsDir + "/" + pki.EndpointResolverCA + "/tls.crt"},
		Components:       forwarded,
	})
	if err != nil {
		return nil, err
	}
	spec := corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](10), Containers: []corev1.Container{container(ctx)}}
	add := func(volume corev1.Volume, path string) {
		spec.Volumes = append(spec.Volumes, volume)
		spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, component.Mount(volume.Name+":"+path))
	}
	add(component.SecretVolume("serving-cert", metricsproxy.Name+"-serving-cert"), proxyDir+"/serving-cert")
	add(certificateOf("client-ca", contract.CSRSigner, contract.CAKey), proxyDir+"/client-ca")
	add(component.ConfigMapVolume("config", contract.MetricsProxyConfig), proxyDir+"/config")
	add(certificateOf(pki.EndpointResolverCA, pki.EndpointResolverCA, corev1.TLSCertKey), certsDir+"/"+pki.EndpointResolverCA)
	if setOf(ctx.HCP) == string(monitor.SRE) {
		replaced := component.ConfigMapVolume("sre", monitor.SREConfigMap)
		replaced.ConfigMap.Optional = ptr.To(true)
		add(replaced, metricsproxy.SREDir)
	}
	for _, name := range authorities {
		add(component.ConfigMapVolume(name, name), certsDir+"/"+name)
	}
	for _, name := range clients {
		add(component.SecretVolume(name, name), certsDir+"/"+name)
	}
	// The config operator tells the hosted cluster where to ask, and whom to trust.
	told := map[string]string{"config.yaml": config, contract.MetricsProxyHost: host, contract.CAKey: string(authority[corev1.TLSCertKey])}
	return []client.Object{component.NewConfigMap(contract.MetricsProxyConfig, told),
		component.NewService(metricsproxy.Name, 443, metricsproxy.Port), component.NewDeployment(metricsproxy.Name, spec)}, nil
}

func container(ctx *component.Context) corev1.Container {
	return corev1.Container{
		Name: metricsproxy.Name, Image: ctx.Settings.Image,
		Command: []string{component.Binary, metricsproxy.Name, "--tls-cert-file=" + proxyDir + "/serving-cert/tls.crt", "--tls-key-file=" + proxyDir + "/serving-cert/tls.key",
			"--client-ca-file=" + proxyDir + "/client-ca/ca.crt", "--config-file=" + proxyDir + "/config/config.yaml", "--metrics-set=" + setOf(ctx.HCP)},
		Env: []corev1.EnvVar{component.FromField(contract.NamespaceEnv, "metadata.namespace")}, Resources: component.Requests("10m", "40Mi"),
		Ports:          []corev1.ContainerPort{component.TCPPort("https", metricsproxy.Port)},
		LivenessProbe:  component.After(120, component.HTTPSProbe("/healthz", metricsproxy.Port, 60, 5, 6)),
		ReadinessProbe: component.HTTPSProbe("/healthz", metricsproxy.Port, 10, 5, 3),
	}
}

// certificateOf an authority, without its key.
func certificateOf(volume, secret, key string) corev1.Volume {
	v := component.SecretVolume(volume, secret)
	v.Secret.Items = []corev1.KeyToPath{{Key: key, Path: key}}
	return v
}

// setOf returns the metrics set to forward: the forwarding's own, else the cluster's, else All.
func setOf(hcp *hyperv1.HostedControlPlane) string {
	m := hcp.Spec.Monitoring
	return cmp.Or(m.MetricsForwarding.MetricsSet, m.MetricsSet, string(monitor.All))
}

// portReader finds the ports of programs by their names.
type portReader struct {
	*component.Context

	err error
}

// of is 0 for a program that is not there, or has no such port.
func (r *portReader) of(workload, name string) int32 {
	key := client.ObjectKey{Namespace: r.Namespace(), Name: workload}
	deployment, set := &appsv1.Deployment{}, &appsv1.StatefulSet{}
	err := r.Client.Get(r, key, deployment)
	if apierrors.IsNotFound(err) {
		err = r.Client.Get(r, key, set)
	}
	if client.IgnoreNotFound(err) != nil {
		r.err = fmt.Errorf("read the ports of %s: %w", workload, err)
	}
	for _, spec := range []corev1.PodSpec{deployment.Spec.Template.Spec, set.Spec.Template.Spec} {
		for _, c := range spec.Containers {
			for _, p := range c.Ports {
				if p.Name == name {
					return p.ContainerPort
				}
			}
		}
	}
	return 0
}
