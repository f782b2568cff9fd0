// Package proxyenv is the one place that decides how a pod reaches the outside: through which HTTP proxy, past it to what,
// and which certificate authorities it trusts.
package proxyenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	// TrustBundleDir is a directory that Go adds to the system's roots, so that no program needs an option for it.
	TrustBundleDir = "/etc/pki/tls/certs"

	// GivenBundleFile is the file in TrustBundleDir with the authorities that the operator was installed with.
	GivenBundleFile = "user-ca-bundle.pem"

	injectLabel    = contract.InjectTrustLabel
	trustBundleEnv = "TRUSTED_CA_CONFIGMAP"
)

// always lists what is never reached through a proxy: the pod itself, Services of the cluster, the hosted API server by
// its short name, and Azure's metadata and platform addresses.
var always = []string{"localhost", "127.0.0.1", ".svc", ".cluster.local", contract.APIServer, "169.254.169.254", "168.63.129.16"}

// Proxy describes the way out of the management cluster.
type Proxy struct {
	HTTPProxy  string
	HTTPSProxy string
	// NoProxy is a comma-separated list of hosts, domain suffixes and CIDRs.
	NoProxy string
	// TrustBundle names the ConfigMap with the certificate authorities in each namespace; empty when the management cluster
	// injects none.
	TrustBundle string
	// Authorities is what those ConfigMaps hold where the management cluster injects nothing: the PEM certificates that the operator
	// was installed with.
	Authorities string
}

// WithGivenAuthorities hands on what the operator was given in dir, TrustBundleDir, where the management cluster injects nothing.
func (p Proxy) WithGivenAuthorities(dir string) (Proxy, error) {
	if p.TrustBundle != "" {
		return p, nil
	}
	given, err := os.ReadFile(filepath.Join(dir, GivenBundleFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("cannot read the certificate authorities that the operator was installed with: %w", err)
	}
	p.TrustBundle, p.Authorities = contract.TrustedCA, string(given)
	return p, nil
}

// Detect asks the management cluster's Proxy API and, where that does not exist, the process's own environment.
func Detect(ctx context.Context, c client.Reader) (Proxy, error) {
	proxy, found, err := FromCluster(ctx, c)
	if err != nil {
		return Proxy{}, err
	}
	if found {
		return proxy, nil
	}
	return FromEnvironment(os.Getenv), nil
}

// FromCluster reads the status of the Proxy "cluster" (config.openshift.io/v1). It reports false when the management
// cluster has no such API or object, or when the caller may not read it: namespaced components get theirs by environment.
func FromCluster(ctx context.Context, c client.Reader) (Proxy, bool, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Proxy"})
	err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, u)
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return Proxy{}, false, nil
	case err != nil:
		return Proxy{}, false, fmt.Errorf("reading the management cluster's Proxy \"cluster\": %w", err)
	}
	status, _, err := unstructured.NestedMap(u.Object, "status")
	if err != nil {
		return Proxy{}, false, fmt.Errorf("the management cluster's Proxy \"cluster\" has a malformed status: %w", err)
	}
	text := func(key string) string {
		s, _ := status[key].(string)
		return s
	}
	return Proxy{
		HTTPProxy: text("httpProxy"), HTTPSProxy: text("httpsProxy"), NoProxy: text("noProxy"), TrustBundle: contract.TrustedCA,
	}, true, nil
}

// FromEnvironment reads HTTP_PROXY, HTTPS_PROXY and NO_PROXY (or their lower-case forms) as Stamp set them.
func FromEnvironment(getenv func(string) string) Proxy {
	either := func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return getenv(strings.ToLower(name))
	}
	return Proxy{
		HTTPProxy: either(contract.HTTPProxyEnv), HTTPSProxy: either(contract.HTTPSProxyEnv), NoProxy: either(contract.NoProxyEnv),
		TrustBundle: getenv(trustBundleEnv),
	}
}

// Set tells whether there is a proxy at all.
func (p Proxy) Set() bool { return p.HTTPProxy != "" || p.HTTPSProxy != "" }

// Env returns the environment variables of a container.
func (p Proxy) Env(extraNoProxy ...string) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(name, value string) {
		if value != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	if p.Set() {
		add(contract.HTTPProxyEnv, p.HTTPProxy)
		add(contract.HTTPSProxyEnv, p.HTTPSProxy)
		add(contract.NoProxyEnv, p.noProxy(extraNoProxy))
	}
	add(trustBundleEnv, p.TrustBundle)
	return env
}

// noProxy joins the proxy's own list, what is always direct, the management API server (Kubernetes expands its address in
// the container's environment) and the caller's additions; sorted, so that equal sets never restart a pod.
func (p Proxy) noProxy(extra []string) string {
	all := append(strings.Split(p.NoProxy, ","), always...)
	all = append(all, "$(KUBERNETES_SERVICE_HOST)")
	all = append(all, extra...)
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}

// Stamp gives every container of the pod the proxy's environment and the trust bundle. A variable that a container sets
// itself stays: some components use a proxy of their own.
func Stamp(pod *corev1.PodSpec, p Proxy, extraNoProxy ...string) {
	env := p.Env(extraNoProxy...)
	for i := range pod.InitContainers {
		stampContainer(&pod.InitContainers[i], p, env)
	}
	for i := range pod.Containers {
		stampContainer(&pod.Containers[i], p, env)
	}
	if p.TrustBundle == "" {
		return
	}
	if slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == contract.TrustedCA }) {
		return
	}
	// Not optional: a pod that starts before the bundle is there would never trust anybody. The kubelet waits for it.
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: contract.TrustedCA, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: p.TrustBundle},
			Items:                []corev1.KeyToPath{{Key: contract.CABundleKey, Path: contract.CABundleKey}},
			DefaultMode:          new(int32(0o644)),
		},
	}})
}

func stampContainer(c *corev1.Container, p Proxy, env []corev1.EnvVar) {
	for _, e := range env {
		if !slices.ContainsFunc(c.Env, func(have corev1.EnvVar) bool { return have.Name == e.Name }) {
			c.Env = append(c.Env, e)
		}
	}
	if p.TrustBundle == "" {
		return
	}
	if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == contract.TrustedCA }) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: contract.TrustedCA, MountPath: TrustBundleDir, ReadOnly: true})
	}
}

// TrustBundleConfigMap is the ConfigMap of one namespace that the management cluster fills. It has no data then, so
// that server-side apply leaves the injected bundle alone.
func (p Proxy) TrustBundleConfigMap(namespace string) *corev1.ConfigMap {
	var data map[string]string
	if p.Authorities != "" {
		data = map[string]string{contract.CABundleKey: p.Authorities}
	}
	return &corev1.ConfigMap{
		Data:     data,
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: contract.TrustedCA, Labels: map[string]string{injectLabel: "true"},
		},
	}
}
