// Package dump writes what a support engineer needs of a hosted cluster into a folder, in the layout of `oc adm inspect`: manifests of the
// management side, logs and events, what the system has inside of the hosted cluster, and Azure's resources; never the value of a secret.
package dump

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// Kind is a kind of objects with the name that it has in addresses. Objects of a wide one are in no namespace.
type Kind struct {
	schema.GroupVersionKind
	Resource string
	Wide     bool
}

// Source is the management cluster, or a hosted one.
type Source struct {
	Client client.Reader
	// Kinds are those that there are; of the management cluster, those that namespaces have.
	Kinds []Kind
	// Log reads a container's log, of the one before the last restart with previous.
	Log func(ctx context.Context, namespace, pod, container string, previous bool) (string, error)
}

// What is dumped.
type What struct {
	Namespace, Name string
	// Operator is the operator's namespace, of which workloads and logs are taken.
	Operator string
	// Folder is made; it must not be there yet, or be empty.
	Folder string
	// Guest connects to the hosted cluster; nil leaves its inside out.
	Guest func(ctx context.Context, hc *hyperv1.HostedCluster) (*Source, error)
	// Azure has the cluster's resources; nil leaves them out.
	Azure Azure
	// Say tells of what could not be read, which ends nothing.
	Say func(format string, args ...any)
}

// operatorKinds are those of which the operator's namespace is asked: others live there whose business this is not.
var operatorKinds = []string{"deployments", "replicasets", "pods", "events", "services", "configmaps"}

// Write dumps the cluster and returns how many files were written. Errors of the cluster itself (apierrors.IsNotFound) and of writing end
// it.
func Write(ctx context.Context, s Source, w What) (int, error) {
	d := &dumper{Source: s, What: w}
	hc := &hyperv1.HostedCluster{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, hc); err != nil {
		return 0, fmt.Errorf("read the HostedCluster: %w", err)
	}
	if err := d.begin(); err != nil {
		return 0, err
	}
	err := d.home(ctx, hc)
	if err == nil {
		err = d.plane(ctx, hc)
	}
	if err == nil {
		err = d.namespace(ctx, w.Operator, func(k Kind) bool { return slices.Contains(operatorKinds, k.Resource) })
	}
	if err == nil {
		err = d.guest(ctx, hc)
	}
	if err == nil {
		err = d.azure(ctx, hc)
	}
	return d.files, err
}

type dumper struct {
	Source
	What
	files int
}

func (d *dumper) begin() error {
	if entries, err := os.ReadDir(d.Folder); err == nil && len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty; name another one", d.Folder)
	}
	if err := os.MkdirAll(d.Folder, 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	return nil
}

// home is the cluster with its pools: the rest of their namespace is of other clusters.
func (d *dumper) home(ctx context.Context, hc *hyperv1.HostedCluster) error {
	for _, kind := range d.Kinds {
		var keep func(*unstructured.Unstructured) bool
		switch {
		case kind.Group == hyperv1.GroupVersion.Group && kind.Resource == "hostedclusters":
			keep = func(u *unstructured.Unstructured) bool { return u.GetName() == hc.Name }
		case kind.Group == hyperv1.GroupVersion.Group && kind.Resource == "nodepools":
			keep = func(u *unstructured.Unstructured) bool {
				name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName")
				return name == hc.Name
			}
		case kind.Group == "" && kind.Resource == "events":
			keep = func(u *unstructured.Unstructured) bool {
				name, _, _ := unstructured.NestedString(u.Object, "involvedObject", "name")
				return name == hc.Name
			}
		default:
			continue
		}
		if err := d.kind(ctx, hc.Namespace, kind, keep); err != nil {
			return err
		}
	}
	return nil
}

// plane is the namespace of the control plane, unless it is somebody else's.
func (d *dumper) plane(ctx context.Context, hc *hyperv1.HostedCluster) error {
	own, err := tenancy.Read(ctx, d.Client, nil, tenancy.Of(hc))
	switch {
	case tenancy.IsRefusal(err), apierrors.IsForbidden(err):
		d.Say("the control plane's namespace is left out: %v", err)
		return nil
	case err != nil:
		return err
	case own == nil:
		d.Say("there is no control plane yet")
		return nil
	}
	return d.namespace(ctx, contract.ControlPlaneNamespace(hc.Namespace, hc.Name), func(Kind) bool { return true })
}

// namespace takes the objects of some kinds, and the logs of all pods.
func (d *dumper) namespace(ctx context.Context, namespace string, of func(Kind) bool) error {
	for _, kind := range d.Kinds {
		if !of(kind) {
			continue
		}
		if err := d.kind(ctx, namespace, kind, nil); err != nil {
			return err
		}
	}
	pods := &corev1.PodList{}
	if err := d.Client.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return d.left(ctx, "pods of "+namespace, err)
	}
	for i := range pods.Items {
		if err := d.logs(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// left tells of what could not be read; an interrupt ends the dump.
func (d *dumper) left(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	d.Say("%s left out: %s", what, Redact(err.Error()))
	return nil
}

// kind writes the objects of a kind as one list.
func (d *dumper) kind(ctx context.Context, namespace string, kind Kind, keep func(*unstructured.Unstructured) bool) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := d.Client.List(ctx, list, client.InNamespace(namespace))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil
	}
	if err != nil {
		return d.left(ctx, kind.Resource+" of "+namespace, err)
	}
	var items []any
	for i := range list.Items {
		item := &list.Items[i]
		if keep != nil && !keep(item) {
			continue
		}
		item.SetGroupVersionKind(kind.GroupVersionKind)
		Strip(item)
		items = append(items, item.Object)
	}
	if len(items) == 0 {
		return nil
	}
	raw, err := yaml.Marshal(map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List", "items": items})
	if err != nil {
		return fmt.Errorf("encode the %s of %s: %w", kind.Resource, namespace, err)
	}
	group := kind.Group
	if group == "" {
		group = "core"
	}
	if namespace == "" {
		return d.file(string(raw), "cluster-scoped-resources", group, kind.Resource+".yaml")
	}
	return d.file(string(raw), "namespaces", namespace, group, kind.Resource+".yaml")
}

func (d *dumper) logs(ctx context.Context, pod *corev1.Pod) error {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for name, previous := range map[string]bool{"current.log": false, "previous.log": true} {
			if previous && status.RestartCount == 0 {
				continue
			}
			text, err := d.Log(ctx, pod.Namespace, pod.Name, status.Name, previous)
			if err != nil {
				if err := d.left(ctx, "log of "+pod.Namespace+"/"+pod.Name+", container "+status.Name, err); err != nil {
					return err
				}
				continue
			}
			if err := d.file(text, "namespaces", pod.Namespace, "pods", pod.Name, status.Name, status.Name, "logs", name); err != nil {
				return err
			}
		}
	}
	return nil
}

// file writes a text without its secrets. Names come from the API server, whose rules have no slash in them.
func (d *dumper) file(text string, path ...string) error {
	if slices.ContainsFunc(path, func(part string) bool { return part == "" || part == ".." || strings.ContainsAny(part, `/\`) }) {
		return fmt.Errorf("refuse to write a file under the name %q", path)
	}
	target := filepath.Join(append([]string{d.Folder}, path...)...)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := os.WriteFile(target, []byte(Redact(text)), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", target, err)
	}
	d.files++
	return nil
}
