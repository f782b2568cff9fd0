package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// belongings are what a management cluster has of one hosted cluster and nobody could make again: with a backup of etcd, all that another
// management cluster needs to take it over with its workers.
type belongings struct {
	Version   int    `json:"version"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Backup and SnapshotURL are the backup of etcd that was made just before; the URL is not signed.
	Backup      string `json:"backup"`
	SnapshotURL string `json:"snapshotURL"`
	SavedAt     string `json:"savedAt"`
	// Objects in the order of their making; the HostedCluster is the last one.
	Objects []unstructured.Unstructured `json:"objects"`
}

const belongingsVersion = 1

// machineKinds are Cluster API's objects, as each needs those before it.
var machineKinds = []schema.GroupVersionKind{
	clusterapi.Cluster, clusterapi.AzureClusterIdentity, clusterapi.AzureCluster, clusterapi.AzureMachineTemplate, clusterapi.MachineDeployment,
	clusterapi.MachineSet, clusterapi.AzureMachine, clusterapi.Machine, clusterapi.MachineHealthCheck,
}

// passing are Secrets of a control plane that belong to one start of etcd.
var passing = []string{contract.EtcdSnapshot, contract.EtcdRestore}

// collect reads what belongs to the hosted cluster.
func (t *target) collect(ctx context.Context, hc *hyperv1.HostedCluster) ([]unstructured.Unstructured, error) {
	pools, err := t.pools(ctx)
	if err != nil {
		return nil, err
	}
	hosted := &unstructured.Unstructured{}
	hosted.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
	if err := t.client.Get(ctx, client.ObjectKeyFromObject(hc), hosted); err != nil {
		return nil, fmt.Errorf("read HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	owners := append(slices.Clone(pools), *hosted)
	var all []unstructured.Unstructured
	for _, kind := range []string{"Secret", "ConfigMap"} {
		found, err := t.list(ctx, corev1.SchemeGroupVersion.WithKind(kind), t.namespace)
		if err != nil {
			return nil, err
		}
		named := namesIn(owners)
		all = append(all, slices.DeleteFunc(found, func(o unstructured.Unstructured) bool { return !named[o.GetName()] })...)
	}
	secrets, err := t.list(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), t.controlPlane())
	if err != nil {
		return nil, err
	}
	all = append(all, slices.DeleteFunc(secrets, func(o unstructured.Unstructured) bool { return !ofControlPlane(&o) })...)
	for _, kind := range machineKinds {
		found, err := t.list(ctx, kind, t.controlPlane())
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	all = append(all, owners...)
	all = slices.DeleteFunc(all, func(o unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
	for i := range all {
		strip(&all[i])
	}
	return all, nil
}

// pools of the hosted cluster.
func (t *target) pools(ctx context.Context) ([]unstructured.Unstructured, error) {
	pools, err := t.list(ctx, hyperv1.GroupVersion.WithKind("NodePool"), t.namespace)
	return slices.DeleteFunc(pools, func(o unstructured.Unstructured) bool {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "clusterName")
		return name != t.name
	}), err
}

func (t *target) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	list := clusterapi.NewList(kind)
	if err := t.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list %s in namespace %s: %w", kind.Kind, namespace, err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind) // the items of a typed list do not say it
	}
	return list.Items, nil
}

// ofControlPlane tells whether a Secret is the control plane's own: its authorities and keys, and what machines begin with. Copies of the
// user's Secrets are made again.
func ofControlPlane(secret *unstructured.Unstructured) bool {
	if slices.Contains(passing, secret.GetName()) {
		return false
	}
	owner := metav1.GetControllerOf(secret)
	return owner != nil && owner.Kind == "HostedControlPlane" || secret.GetAnnotations()[hyperv1.NodePoolAnnotation] != ""
}

// namesIn are all names that the specifications refer to.
func namesIn(objects []unstructured.Unstructured) map[string]bool {
	names := map[string]bool{}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if name, ok := v["name"].(string); ok {
				names[name] = true
			}
			for _, below := range v {
				walk(below)
			}
		case []any:
			for _, below := range v {
				walk(below)
			}
		}
	}
	for i := range objects {
		walk(objects[i].Object["spec"])
	}
	return names
}

// strip takes away what is true in one management cluster only: identity, ownership by identity, finalizers, which controllers add again,
// and status. Owners adopt what their selectors find.
func strip(o *unstructured.Unstructured) {
	delete(o.Object, "status")
	metadata := map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}
	if labels := o.GetLabels(); len(labels) > 0 {
		metadata["labels"], _, _ = unstructured.NestedFieldNoCopy(o.Object, "metadata", "labels")
	}
	annotations := map[string]any{}
	for key, value := range o.GetAnnotations() {
		// With the note of what a controller wrote last, it would not write it here.
		if !strings.HasPrefix(key, kube.DesiredHashPrefix) && key != corev1.LastAppliedConfigAnnotation {
			annotations[key] = value
		}
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	o.Object["metadata"] = metadata
}

// movable refuses a hosted cluster whose workers would not find its control plane elsewhere.
func movable(hc *hyperv1.HostedCluster) error {
	if hc.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		return fmt.Errorf("HostedCluster %s/%s has an etcd of yours (spec.etcd.managementType Unmanaged), which no backup brings back", hc.Namespace, hc.Name)
	}
	var lacking []string
	for _, service := range hc.Spec.Services {
		var host hyperv1.Hostname
		switch s := service.ServicePublishingStrategy; {
		case s.LoadBalancer != nil:
			host = s.LoadBalancer.Hostname
		case s.Route != nil:
			host = s.Route.Hostname
		}
		if host == "" && (service.Service == hyperv1.APIServer || service.Service == hyperv1.Konnectivity) {
			lacking = append(lacking, string(service.Service))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return fmt.Errorf("HostedCluster %s/%s publishes %s without a host name (spec.services): on another management cluster the address is another one, and its workers would not find it. "+
		"Only clusters made with --external-dns-domain can be taken over with their workers; begin another one with a backup instead: hypershift backup restore %s", hc.Namespace, hc.Name, strings.Join(lacking, " and "), hc.Name)
}

// saveBelongings writes the file that only its owner can read.
func (t *target) saveBelongings(ctx context.Context, hc *hyperv1.HostedCluster, backup *hyperv1.HCPEtcdBackup, file string) error {
	objects, err := t.collect(ctx, hc)
	if err != nil {
		return err
	}
	raw, err := yaml.Marshal(belongings{Version: belongingsVersion, Namespace: t.namespace, Name: t.name, Backup: backup.Name,
		SnapshotURL: backup.Status.SnapshotURL, SavedAt: t.now().UTC().Format(time.RFC3339), Objects: objects})
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return wholefile.ReplaceSecret(file, raw)
}

// readBelongings reads such a file, and sees that it is the hosted cluster's.
func (t *target) readBelongings(file string) (*belongings, *hyperv1.HostedCluster, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("--management-file %s does not exist; `hypershift backup create %s --management-file` writes it", file, t.name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--management-file: %w", err)
	}
	found := &belongings{}
	// The parser's words repeat what it read, and that may be a key.
	if yaml.Unmarshal(raw, found) != nil || found.Version != belongingsVersion || len(found.Objects) == 0 {
		return nil, nil, fmt.Errorf("--management-file %s is no file of `hypershift backup create --management-file`, version %d", file, belongingsVersion)
	}
	if found.Namespace != t.namespace || found.Name != t.name {
		return nil, nil, fmt.Errorf("--management-file %s is that of HostedCluster %s/%s, not of %s/%s", file, found.Namespace, found.Name, t.namespace, t.name)
	}
	hc := &hyperv1.HostedCluster{}
	last := found.Objects[len(found.Objects)-1]
	text, err := yaml.Marshal(last.Object)
	if err == nil {
		err = yaml.Unmarshal(text, hc)
	}
	if err != nil || last.GetKind() != "HostedCluster" {
		return nil, nil, fmt.Errorf("--management-file %s has no HostedCluster at its end", file)
	}
	return found, hc, nil
}

// served refuses a management cluster that lacks a kind.
func (t *target) served(objects []unstructured.Unstructured) error {
	for i := range objects {
		kind := objects[i].GroupVersionKind()
		if _, err := t.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			return fmt.Errorf("the management cluster does not know %s; install the operator of the former one, or a newer one, first: hypershift install", kind.Kind)
		} else if err != nil {
			return fmt.Errorf("ask the management cluster for %s: %w", kind.Kind, err)
		}
	}
	return nil
}
