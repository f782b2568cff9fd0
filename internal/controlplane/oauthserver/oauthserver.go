// Package oauthserver is oauth-openshift, where the users of a hosted cluster log in, with the identity providers that its user configures.
package oauthserver

import (
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Name of the component, its Deployment and its ConfigMap.
const Name = contract.OAuthServer

// KubeadminSecret has the password of the first administrator, key password, until the user configures OAuth.
const KubeadminSecret = contract.KubeadminPassword

const (
	image = contract.ImageOAuthServer
	port  = publish.OAuthPort
	logs  = "/var/run/kubernetes"

	sessionSecret = Name + "-session"
	masterCA      = contract.LoginCABundle
	servingSecret = contract.LoginCertificate
	configKey     = "config.yaml"
	templatesDir  = "/etc/kubernetes/secrets/templates"
	servingDir    = "/etc/kubernetes/certs/serving-cert"
	namedDir      = "/etc/kubernetes/certs/named-"
)

// auditPolicy says nothing of who looks after the server's health, and who did what of everything else.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages:
- RequestReceived
rules:
- level: None
  nonResourceURLs:
  - /healthz*
  - /logs
  - /metrics
  - /version
- level: Metadata
`

var (
	//go:embed pages/login.html
	loginPage string
	//go:embed pages/providers.html
	providersPage string
	//go:embed pages/errors.html
	errorsPage string
)

// page is what the server shows to a person, unless the user has one of his own.
type page struct {
	volume, dir, secret, key, text string
	own                            func(clusterconfig.OAuthTemplates) string
}

var pages = []page{
	{"login-template", "login", Name + "-default-login-template", "login.html", loginPage, func(t clusterconfig.OAuthTemplates) string { return t.Login.Name }},
	{"providers-template", "providers", Name + "-default-provider-selection-template", "providers.html", providersPage,
		func(t clusterconfig.OAuthTemplates) string { return t.ProviderSelection.Name }},
	{"error-template", "error", Name + "-default-error-template", "errors.html", errorsPage, func(t clusterconfig.OAuthTemplates) string { return t.Error.Name }},
}

// Component is the OAuth server, published at endpoints.
func Component(endpoints publish.Endpoints) component.Component {
	return component.Component{
		Name:      Name,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{image, component.ToolsImage},
		DependsOn: []string{contract.APIServer, contract.OpenShiftAPIServer},
		Enabled:   (*component.Context).LogsUsersIn,
		Traits: component.Traits{Replicas: 3, Priority: component.PriorityAPICritical, RequestServing: true, Budget: true,
			WaitFor: component.WaitForAPIServer},
		Check: func(ctx *component.Context) error {
			_, err := providersOf(ctx)
			return err
		},
		Objects: func(ctx *component.Context) ([]client.Object, error) { return objects(ctx, endpoints) },
	}
}

// CallbackURL is where identity providers send users back to, the name of the provider in its place.
func CallbackURL(oauth publish.Endpoint) string {
	return oauth.URL() + contract.OAuthCallback
}

func objects(ctx *component.Context, endpoints publish.Endpoints) ([]client.Object, error) {
	if !endpoints.OAuth.Known() || !endpoints.APIServer.Known() {
		return nil, &component.MissingInputError{Kind: "Secret", Name: servingSecret}
	}
	settings, err := clusterconfig.APIServerOf(ctx.HCP)
	if err != nil {
		return nil, err
	}
	// What is left out is told by Check.
	providers, _ := providersOf(ctx)
	config, err := configuration(ctx, endpoints, settings, providers)
	if err != nil {
		return nil, err
	}
	session, err := sessionOf(ctx)
	if err != nil {
		return nil, err
	}
	trust, err := trustOf(ctx, settings)
	if err != nil {
		return nil, err
	}
	templates, err := clusterconfig.OAuthTemplatesOf(ctx.HCP)
	if err != nil {
		return nil, err
	}
	d := component.NewDeployment(Name, pod(ctx, settings, providers, templates))
	hash, err := passwordHash(ctx)
	if err != nil {
		return nil, err
	}
	if hash != "" {
		// A new password restarts the pods.
		d.Spec.Template.Annotations = map[string]string{contract.KubeadminHash: hash}
	}
	out := []client.Object{
		component.NewConfigMap(Name, map[string]string{configKey: config}),
		component.NewConfigMap(Name+"-audit", map[string]string{"policy.yaml": auditPolicy, "profile": settings.Audit.Profile}),
		component.NewConfigMap(masterCA, map[string]string{contract.CAKey: trust}),
		session, d,
	}
	password, err := kubeadminOf(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, password...)
	for _, p := range pages {
		out = append(out, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: p.secret}, Data: map[string][]byte{p.key: []byte(p.text)}})
	}
	return out, nil
}

func pod(ctx *component.Context, settings clusterconfig.APIServer, providers Providers, templates clusterconfig.OAuthTemplates) corev1.PodSpec {
	const proxy = "http://127.0.0.1:8092"
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: Name, Image: ctx.Image(image), WorkingDir: logs,
			Args: []string{"osinserver", "--config=/etc/kubernetes/config/" + configKey,
				"--audit-log-format=json", "--audit-log-maxbackup=1", "--audit-log-maxsize=10", "--audit-log-path=" + logs + "/audit.log",
				"--audit-policy-file=/etc/kubernetes/audit-config/policy.yaml"},
			Env: component.Environment(contract.HTTPProxyEnv, proxy, contract.HTTPSProxyEnv, proxy, "ALL_PROXY", "socks5://127.0.0.1:8090",
				contract.NoProxyEnv, contract.APIServer+",audit-webhook,"+serviceHost(ctx.HCP)),
			Ports:          []corev1.ContainerPort{component.TCPPort("https", port)},
			Resources:      component.Requests("25m", "40Mi"),
			LivenessProbe:  component.After(120, component.HTTPSProbe("/healthz", port, 60, 10, 3)),
			ReadinessProbe: component.HTTPSProbe("/healthz", port, 10, 5, 3),
			VolumeMounts: []corev1.VolumeMount{
				component.Mount("oauth-config:/etc/kubernetes/config"), component.Mount("audit-config:/etc/kubernetes/audit-config"),
				component.Mount("session-secret:/etc/kubernetes/secrets/session"), component.NetworkKubeconfigMount(),
				component.Mount("master-ca-bundle:/etc/kubernetes/certs/master-ca"), component.Mount("serving-cert:" + servingDir),
				{Name: "logs", MountPath: logs},
			},
		}},
		Volumes: []corev1.Volume{
			component.ConfigMapVolume("oauth-config", Name), component.ConfigMapVolume("audit-config", Name+"-audit"),
			component.SecretVolume("session-secret", sessionSecret), component.NetworkKubeconfigVolume(),
			component.ConfigMapVolume("master-ca-bundle", masterCA), component.SecretVolume("serving-cert", servingSecret),
			component.EmptyDirVolume("logs"),
		},
	}
	server := &spec.Containers[0]
	mount := func(volume corev1.Volume, path string) {
		spec.Volumes = append(spec.Volumes, volume)
		server.VolumeMounts = append(server.VolumeMounts, component.Mount(volume.Name+":"+path))
	}
	for _, p := range pages {
		secret := p.own(templates)
		if secret == "" {
			secret = p.secret
		}
		mount(component.SecretVolume(p.volume, secret), templatesDir+"/"+p.dir)
	}
	for i, named := range settings.Serving() {
		mount(component.SecretVolume(fmt.Sprintf("named-cert-%d", i+1), named.ServingCertificate.Name), fmt.Sprintf("%s%d", namedDir, i+1))
	}
	spec.Volumes, server.VolumeMounts = append(spec.Volumes, providers.Volumes...), append(server.VolumeMounts, providers.Mounts...)
	if component.AddAuditWebhook(ctx, &spec, "oauth-audit-webhook") {
		server.Args = append(server.Args, component.AuditWebhookFlags()...)
	}
	if apiserver.LogsAnything(settings.Audit) {
		spec.Containers = append(spec.Containers, component.AuditLogs(ctx, "logs", logs, logs+"/audit.log"))
	}
	component.AddHTTPSProxy(ctx, &spec, component.TunnelProxy{Port: 8092, Flags: []string{component.DirectToCloud}})
	component.AddSOCKSProxy(ctx, &spec, component.TunnelProxy{Port: 8090,
		Flags: []string{"--resolve-from-guest-cluster-dns=true", "--resolve-from-management-cluster-dns=true"}})
	return spec
}

// serviceHost is the server's name within the management cluster.
func serviceHost(hcp *hyperv1.HostedControlPlane) string {
	return Name + "." + hcp.Namespace + ".svc.cluster.local"
}
