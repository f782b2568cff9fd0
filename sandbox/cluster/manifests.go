package cluster

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"text/template"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// openShiftManifests are those that a plain Kubernetes does not have.
var openShiftManifests = []string{"manifests/10-crds.yaml", "manifests/20-openshift.yaml"}

const fieldOwner = "hypershift-sandbox"

// configKind is a kind of config.openshift.io that the cluster shows.
type configKind struct{ Kind, Plural, Singular string }

var configKinds = []configKind{
	{"Ingress", "ingresses", "ingress"}, {"Proxy", "proxies", "proxy"},
	{"Infrastructure", "infrastructures", "infrastructure"}, {"DNS", "dnses", "dns"},
	{"Network", "networks", "network"},
}

// resources maps the kinds in the manifests to where they are served, which
// spares the discovery of everything that is.
var resources = func() map[schema.GroupKind]schema.GroupVersionResource {
	table := map[schema.GroupKind]schema.GroupVersionResource{}
	add := func(group, kind, plural string) {
		table[schema.GroupKind{Group: group, Kind: kind}] = schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
	}
	add("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
	add("", "Namespace", "namespaces")
	add("", "ServiceAccount", "serviceaccounts")
	add("", "ConfigMap", "configmaps")
	add("", "Secret", "secrets")
	add("", "Service", "services")
	add("apps", "Deployment", "deployments")
	add("apps", "DaemonSet", "daemonsets")
	add("rbac.authorization.k8s.io", "ClusterRole", "clusterroles")
	add("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings")
	add("rbac.authorization.k8s.io", "RoleBinding", "rolebindings")
	add("storage.k8s.io", "StorageClass", "storageclasses")
	for _, kind := range configKinds {
		add("config.openshift.io", kind.Kind, kind.Plural)
	}
	return table
}()

// client talks to the management cluster.
type client struct{ dynamic.Interface }

func newClient(kubeconfig string) (client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return client{}, err
	}
	// The shell's proxy settings are for Azure.
	config.Proxy = nil
	config.QPS, config.Burst = 200, 400
	d, err := dynamic.NewForConfig(config)
	return client{d}, err
}

// Apply brings the cluster's own objects in. images maps coredns and
// local-path-provisioner to what to run.
func (c Config) Apply(ctx context.Context, images map[string]string) error {
	k, err := newClient(c.Kubeconfig())
	if err != nil {
		return err
	}
	objects, err := c.render(images)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := k.apply(ctx, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return os.WriteFile(c.appliedMarker(), nil, 0o644)
}

// appliedMarker exists when the cluster has the roles of the parts that need
// one.
func (c Config) appliedMarker() string { return c.cluster("applied") }

func (c Config) render(images map[string]string) ([]*unstructured.Unstructured, error) {
	values := map[string]any{
		"ConfigKinds": configKinds, "AppsDomain": AppsDomain, "ManagementDomain": ManagementDomain,
		"ManagementGroup": ManagementGroup, "ProxyURL": ProxyURL, "NoProxy": noProxy, "APIURL": APIURL,
		"EdgeIP": EdgeIP, "DNSServiceIP": dnsServiceIP, "PodCIDR": podCIDR, "ServiceCIDR": serviceCIDR, "Images": images, "Volumes": c.cluster("volumes"), "Several": c.Nodes > 1, "FirstNode": NodeName,
	}
	objects, err := c.fileObjects()
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(manifests, "manifests/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if c.Plain && slices.Contains(openShiftManifests, name) {
			continue
		}
		t, err := template.ParseFS(manifests, name)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := t.Option("missingkey=error").Execute(&text, values); err != nil {
			return nil, err
		}
		more, err := decode(&text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, more...)
	}
	return ordered(objects), nil
}

// ordered puts definitions first and namespaces second.
func ordered(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var first, second, rest []*unstructured.Unstructured
	for _, o := range objects {
		switch o.GetKind() {
		case "CustomResourceDefinition":
			first = append(first, o)
		case "Namespace":
			second = append(second, o)
		default:
			rest = append(rest, o)
		}
	}
	return append(append(first, second...), rest...)
}

// fileObjects are made of files of the sandbox: the pull secret for the
// system's own pods, and the bundle that components trust.
func (c Config) fileObjects() ([]*unstructured.Unstructured, error) {
	pullSecret, err := os.ReadFile(c.PullSecretFile())
	if err != nil {
		return nil, err
	}
	objects := []*unstructured.Unstructured{
		{Object: object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "pull-secret", "namespace": "kube-system"},
			"type": "kubernetes.io/dockerconfigjson", "stringData": object{".dockerconfigjson": string(pullSecret)}}},
	}
	if c.Plain {
		return objects, nil
	}
	ca, err := os.ReadFile(c.CA())
	if err != nil {
		return nil, err
	}
	return append(objects, &unstructured.Unstructured{
		Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "user-ca-bundle", "namespace": "openshift-config"},
			"data": object{"ca-bundle.crt": string(ca)}}}), nil
}

func decode(text io.Reader) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(text, 4096)
	var objects []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// apply applies an object and, where there is one, its status.
func (k client) apply(ctx context.Context, o *unstructured.Unstructured) error {
	resource, ok := resources[o.GroupVersionKind().GroupKind()]
	if !ok {
		return fmt.Errorf("no resource is known for this kind")
	}
	options := metav1.ApplyOptions{FieldManager: fieldOwner, Force: true}
	target := k.Resource(resource).Namespace(o.GetNamespace())
	status, hasStatus := o.Object["status"]
	body := o.DeepCopy()
	delete(body.Object, "status")
	var err error
	// A kind whose definition was applied just now is served a moment later.
	for {
		_, err = target.Apply(ctx, o.GetName(), body, options)
		if !transient(err) || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err != nil || !hasStatus {
		return err
	}
	body.Object["status"] = status
	_, err = target.ApplyStatus(ctx, o.GetName(), body, options)
	return err
}

// transient tells answers that will be others in a moment: a kind that is not
// served yet, a namespace that is not seen yet, a server that restarts.
func transient(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || errors.Is(err, syscall.ECONNREFUSED)
}
