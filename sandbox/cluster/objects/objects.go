// Package objects is what the management cluster has of the sandbox: its own objects, and the wait for what they bring.
package objects

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/kubeclient"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// openShiftManifests are those that a plain Kubernetes does not have.
var openShiftManifests = []string{"manifests/10-crds.yaml", "manifests/20-openshift.yaml"}

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

// Options are what the objects follow from.
type Options struct {
	Images         map[string]string // what to run as coredns and as local-path-provisioner
	PullSecretFile string
	CA             string // file of the certificate that components trust
	Volumes        string // directory of the volumes
	SeveralNodes   bool
	Plain          bool // without what only OpenShift has
}

// Apply brings the cluster's own objects in.
func Apply(ctx context.Context, kubeconfig string, from Options) error {
	k, err := kubeclient.New(kubeconfig)
	if err != nil {
		return err
	}
	objects, err := render(from)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := apply(ctx, k, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func render(from Options) ([]*unstructured.Unstructured, error) {
	objects, err := fileObjects(from)
	if err != nil {
		return nil, err
	}
	if !from.Plain {
		for _, kind := range configKinds {
			objects = append(objects, kind.definition())
		}
	}
	files, err := fs.Glob(manifests, "manifests/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if from.Plain && slices.Contains(openShiftManifests, name) {
			continue
		}
		more, err := from.read(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, more...)
	}
	if from.SeveralNodes {
		forSeveralNodes(objects)
	}
	return ordered(objects), nil
}

// read is what a file of manifests holds, with the values in the places that name them.
func (from Options) read(name string) ([]*unstructured.Unstructured, error) {
	raw, err := manifests.ReadFile(name)
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer(
		"{{ .AppsDomain }}", names.AppsDomain, "{{ .ManagementDomain }}", names.ManagementDomain, "{{ .ManagementGroup }}", names.ManagementGroup,
		"{{ .ProxyURL }}", names.ProxyURL, "{{ .NoProxy }}", names.NoProxy, "{{ .APIURL }}", names.APIURL, "{{ .EdgeIP }}", names.EdgeIP,
		"{{ .DNSServiceIP }}", names.DNSServiceIP, "{{ .PodCIDR }}", names.PodCIDR, "{{ .ServiceCIDR }}", names.ServiceCIDR,
		"{{ .DNSImage }}", from.Images["coredns"], "{{ .VolumesImage }}", from.Images["local-path-provisioner"], "{{ .Volumes }}", from.Volumes,
	).Replace(string(raw))
	if at := strings.Index(text, "{{"); at >= 0 {
		return nil, fmt.Errorf("nothing is known for the place %.40s", text[at:])
	}
	return decode(strings.NewReader(text))
}

// forSeveralNodes has the first node resolve names, and each look after its own volumes.
func forSeveralNodes(objects []*unstructured.Unstructured) {
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		spec := o.Object["spec"].(object)
		pod := spec["template"].(object)["spec"].(object)
		switch o.GetName() {
		case "coredns":
			pod["nodeSelector"] = object{"kubernetes.io/hostname": names.NodeName}
		case "local-path-provisioner":
			o.SetKind("DaemonSet")
			delete(spec, "replicas")
			delete(spec, "strategy")
			program := pod["containers"].([]any)[0].(object)
			program["args"] = append(program["args"].([]any), "--node=$(NODE_NAME)")
			program["env"] = []any{object{"name": "NODE_NAME", "valueFrom": object{"fieldRef": object{"fieldPath": "spec.nodeName"}}}}
		}
	}
}

// definition takes every specification and status.
func (k configKind) definition() *unstructured.Unstructured {
	anything := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": k.Plural + ".config.openshift.io"},
		"spec": object{"group": "config.openshift.io", "scope": "Cluster",
			"names": object{"kind": k.Kind, "listKind": k.Kind + "List", "plural": k.Plural, "singular": k.Singular},
			"versions": []any{object{"name": "v1", "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{"spec": anything, "status": anything}}}}}}}}
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
func fileObjects(from Options) ([]*unstructured.Unstructured, error) {
	pullSecret, err := os.ReadFile(from.PullSecretFile)
	if err != nil {
		return nil, err
	}
	objects := []*unstructured.Unstructured{
		{Object: object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "pull-secret", "namespace": "kube-system"},
			"type": "kubernetes.io/dockerconfigjson", "stringData": object{".dockerconfigjson": string(pullSecret)}}},
	}
	if from.Plain {
		return objects, nil
	}
	ca, err := os.ReadFile(from.CA)
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
func apply(ctx context.Context, k dynamic.Interface, o *unstructured.Unstructured) error {
	resource, ok := resources[o.GroupVersionKind().GroupKind()]
	if !ok {
		return fmt.Errorf("no resource is known for this kind")
	}
	options := metav1.ApplyOptions{FieldManager: kubeclient.FieldOwner, Force: true}
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

type object = map[string]any
