// Package oadp makes the objects of Velero with which users of OADP save hosted clusters and bring them back.
package oadp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	defaultNamespace = "openshift-adp"
	suffixLength     = 6
	// pluginName is OADP's name for its plugin for hosted clusters.
	pluginName = "hypershift"
)

var (
	velero  = schema.GroupVersion{Group: "velero.io", Version: "v1"}
	dpaKind = schema.GroupVersionKind{Group: "oadp.openshift.io", Version: "v1alpha1", Kind: "DataProtectionApplication"}
)

// request is what all three commands are asked for.
type request struct {
	cluster, clusterNamespace, name, namespace, kubeconfig string
	additional                                             []string
	etcdSnapshot, render                                   bool
	client                                                 client.Client
	say                                                    func(format string, args ...any)
}

// command completes a command: build makes its object, check what has to hold for it beside what all need.
func (r *request) command(cmd *cobra.Command, kind string, build func() (*unstructured.Unstructured, error), check func(context.Context) error) *cobra.Command {
	cmd.Args = cobra.NoArgs
	flags := cmd.Flags()
	flags.StringVar(&r.cluster, "hc-name", "", "name of the hosted cluster")
	flags.StringVar(&r.clusterNamespace, "hc-namespace", "", "namespace of the hosted cluster")
	flags.StringVar(&r.name, "name", "", "name of the "+kind+"; NAME-NAMESPACE of the hosted cluster and six random characters when empty")
	flags.StringVar(&r.namespace, "oadp-namespace", defaultNamespace, "namespace of OADP or Velero")
	flags.StringSliceVar(&r.additional, "include-additional-namespaces", nil, "namespaces to include beside those of the hosted cluster and its control plane")
	flags.BoolVar(&r.etcdSnapshot, "use-etcd-snapshot", false, "refused: OADP's plugin keeps the credentials of such backups where no control plane may read them; use hypershift backup create")
	flags.BoolVar(&r.render, "render", false, "print the object as YAML and write nothing; no management cluster is needed")
	management.AddKubeconfig(cmd, &r.kubeconfig)
	_ = cmd.MarkFlagRequired("hc-name")
	_ = cmd.MarkFlagRequired("hc-namespace")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		obj, err := r.typed(build)
		if err != nil {
			return err
		}
		if r.render {
			return show(cmd.OutOrStdout(), obj)
		}
		if r.client, err = management.NewClient(r.kubeconfig); err != nil {
			return err
		}
		r.say = progress.Line(cmd)
		return r.apply(cmd.Context(), obj, check, cmd.OutOrStdout())
	}
	return cmd
}

// typed checks what was typed and makes the object.
func (r *request) typed(build func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	if r.etcdSnapshot {
		return nil, errors.New("--use-etcd-snapshot is not supported: OADP's plugin keeps the credentials of such backups in the operator's namespace, where no control plane may read them; save etcd with hypershift backup create, and leave the flag out")
	}
	r.name = cmp.Or(r.name, r.cluster+"-"+r.clusterNamespace+"-"+rand.String(suffixLength))
	if problems := validation.IsDNS1123Label(r.name); len(problems) > 0 {
		return nil, fmt.Errorf("--name %s cannot be: %s", r.name, problems[0])
	}
	return build()
}

func show(out io.Writer, obj *unstructured.Unstructured) error {
	raw, err := yaml.Marshal(obj.Object)
	if err != nil {
		return fmt.Errorf("print %s: %w", obj.GetKind(), err)
	}
	_, err = bytes.NewBuffer(append([]byte("---\n"), raw...)).WriteTo(out)
	return err
}

// apply creates the object once everything is there that acts on it.
func (r *request) apply(ctx context.Context, obj *unstructured.Unstructured, check func(context.Context) error, out io.Writer) error {
	if err := r.clusterExists(ctx); err != nil {
		return err
	}
	if err := errors.Join(r.ready(ctx), check(ctx)); err != nil {
		return err
	}
	err := r.client.Create(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s %s/%s is there already; choose another --name", obj.GetKind(), r.namespace, r.name)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the management cluster does not know Velero's %s; install OADP or Velero first: %w", obj.GetKind(), err)
	case err != nil:
		return fmt.Errorf("create %s %s/%s: %w", obj.GetKind(), r.namespace, r.name, err)
	}
	_, err = fmt.Fprintf(out, "%s %s/%s created\n", obj.GetKind(), r.namespace, r.name)
	return err
}

func (r *request) clusterExists(ctx context.Context) error {
	hc := &hyperv1.HostedCluster{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.clusterNamespace, Name: r.cluster}, hc)
	switch {
	case apierrors.IsNotFound(err):
		return management.NoCluster(ctx, r.client, r.clusterNamespace, r.cluster)
	case err != nil:
		return management.Unread("HostedCluster", r.clusterNamespace, r.cluster, err)
	case hc.Spec.Platform.Type != hyperv1.AzurePlatform:
		return fmt.Errorf("HostedCluster %s/%s is of platform %s, and what is included is that of Azure", r.clusterNamespace, r.cluster, hc.Spec.Platform.Type)
	}
	return nil
}

// ready sees that OADP runs; on a cluster without OADP, that Velero does.
func (r *request) ready(ctx context.Context) error {
	applications := &unstructured.UnstructuredList{}
	applications.SetGroupVersionKind(dpaKind.GroupVersion().WithKind(dpaKind.Kind + "List"))
	err := r.client.List(ctx, applications, client.InNamespace(r.namespace))
	if meta.IsNoMatchError(err) {
		return r.deploymentReady(ctx, "velero")
	}
	if err != nil {
		return fmt.Errorf("list the DataProtectionApplications of namespace %s: %w", r.namespace, err)
	}
	if err := errors.Join(r.deploymentReady(ctx, "openshift-adp-controller-manager"), r.deploymentReady(ctx, "velero")); err != nil {
		return err
	}
	for i := range applications.Items {
		if !reconciled(&applications.Items[i]) {
			continue
		}
		plugins, _, _ := unstructured.NestedStringSlice(applications.Items[i].Object, "spec", "configuration", "velero", "defaultPlugins")
		for _, plugin := range plugins {
			if plugin == pluginName {
				return nil
			}
		}
		r.say("warning: DataProtectionApplication %s/%s does not have %s among its spec.configuration.velero.defaultPlugins", r.namespace, applications.Items[i].GetName(), pluginName)
		return nil
	}
	return fmt.Errorf("no DataProtectionApplication of namespace %s has condition Reconciled True; look at their conditions, or name another --oadp-namespace", r.namespace)
}

func reconciled(application *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(application.Object, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "Reconciled" && c["status"] == "True" {
			return true
		}
	}
	return false
}

func (r *request) deploymentReady(ctx context.Context, name string) error {
	found := &appsv1.Deployment{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("Deployment %s/%s is missing: is it installed, and in this --oadp-namespace?", r.namespace, name)
	}
	if err != nil {
		return fmt.Errorf("read Deployment %s/%s: %w", r.namespace, name, err)
	}
	if found.Status.ReadyReplicas == 0 {
		return fmt.Errorf("Deployment %s/%s has no ready pod: kubectl -n %s describe deployment %s says why", r.namespace, name, r.namespace, name)
	}
	return nil
}

// named begins an object of Velero's.
func (r *request) named(kind string, labels map[string]string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(velero.WithKind(kind))
	obj.SetNamespace(r.namespace)
	obj.SetName(r.name)
	obj.SetLabels(labels)
	return obj
}

func (r *request) namespaces() []any {
	return list(append([]string{r.clusterNamespace, contract.ControlPlaneNamespace(r.clusterNamespace, r.cluster)}, r.additional...))
}

func list(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}
