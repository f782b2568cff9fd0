package proxyenv

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

func TestStampGivesEveryContainerTheWayOut(t *testing.T) {
	pod := &corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init"}},
		Containers:     []corev1.Container{{Name: "own", Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://127.0.0.1:8090"}}}},
	}
	p := Proxy{HTTPSProxy: "http://proxy:1", NoProxy: "10.0.0.0/8, .svc", TrustBundle: contract.TrustedCA}
	Stamp(pod, p, "etcd-client")
	Stamp(pod, p, "etcd-client")

	if got := value(pod.InitContainers[0], "HTTPS_PROXY"); got != "http://proxy:1" {
		t.Errorf("HTTPS_PROXY = %q", got)
	}
	if got := value(pod.Containers[0], "HTTPS_PROXY"); got != "http://127.0.0.1:8090" {
		t.Errorf("a container's own proxy was replaced by %q", got)
	}
	noProxy := strings.Split(value(pod.Containers[0], "NO_PROXY"), ",")
	for _, want := range []string{"10.0.0.0/8", ".svc", "localhost", "169.254.169.254", "168.63.129.16", "kube-apiserver", "etcd-client"} {
		if !slices.Contains(noProxy, want) {
			t.Errorf("NO_PROXY lacks %q: %v", want, noProxy)
		}
	}
	if !slices.IsSorted(noProxy) || len(slices.Compact(slices.Clone(noProxy))) != len(noProxy) {
		t.Errorf("NO_PROXY is not a sorted set: %v", noProxy)
	}
	if len(pod.Volumes) != 1 || len(pod.Containers[0].VolumeMounts) != 1 {
		t.Errorf("stamping twice mounts %d volumes, %d mounts", len(pod.Volumes), len(pod.Containers[0].VolumeMounts))
	}
}

func TestStampWithoutProxyAndTrustChangesNothing(t *testing.T) {
	pod := &corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}
	Stamp(pod, Proxy{NoProxy: "ignored"})
	if len(pod.Containers[0].Env) != 0 || len(pod.Volumes) != 0 {
		t.Errorf("stamped %+v", pod)
	}
}

func TestEnvironmentRoundTrip(t *testing.T) {
	want := Proxy{HTTPProxy: "http://p:1", HTTPSProxy: "http://p:2", NoProxy: ".svc", TrustBundle: contract.TrustedCA}
	env := map[string]string{}
	for _, e := range want.Env() {
		env[e.Name] = e.Value
	}
	got := FromEnvironment(func(name string) string { return env[name] })
	if got.HTTPProxy != want.HTTPProxy || got.HTTPSProxy != want.HTTPSProxy || got.TrustBundle != want.TrustBundle {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFromCluster(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.openshift.io/v1", "kind": "Proxy", "metadata": map[string]any{"name": "cluster"},
		"spec":   map[string]any{"httpsProxy": "http://spec:1"},
		"status": map[string]any{"httpsProxy": "http://status:1", "noProxy": ".svc"},
	}}
	got, found, err := FromCluster(context.Background(), fake.NewClientBuilder().WithObjects(u).Build())
	if err != nil || !found || got.HTTPSProxy != "http://status:1" || got.TrustBundle == "" {
		t.Errorf("got %+v, %v, %v", got, found, err)
	}
	_, found, err = FromCluster(context.Background(), fake.NewClientBuilder().Build())
	if err != nil || found {
		t.Errorf("without the API: found %v, %v", found, err)
	}
}

func value(c corev1.Container, name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// Where nobody injects authorities, those that the operator was installed with go on to every namespace.
func TestGivenAuthorities(t *testing.T) {
	dir := t.TempDir()
	injected := Proxy{TrustBundle: "injected"}
	for name, c := range map[string]struct {
		given       string
		before      Proxy
		bundle, pem string
	}{
		"none":               {},
		"given":              {given: "PEM", bundle: contract.TrustedCA, pem: "PEM"},
		"injected and given": {given: "PEM", before: injected, bundle: "injected"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(dir, name)
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.given != "" {
				if err := os.WriteFile(filepath.Join(folder, GivenBundleFile), []byte(c.given), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := c.before.WithGivenAuthorities(folder)
			if err != nil || got.TrustBundle != c.bundle || got.TrustBundleConfigMap("ns").Data[contract.CABundleKey] != c.pem {
				t.Errorf("%+v: %v", got, err)
			}
			if c.pem == "" && got.TrustBundleConfigMap("ns").Data != nil {
				t.Error("the ConfigMap would fight with the injected bundle")
			}
		})
	}
}
