package hostedcluster

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	fieldManager = "hypershift-operator"

	firstUserID, lastUserID = 1001, 11000
)

// ensureNamespace makes the control-plane namespace and what every pod in it relies on.
func (p *pass) ensureNamespace(ctx context.Context) error {
	p.users.Lock()
	defer p.users.Unlock()
	own, err := p.readNamespace(ctx)
	if err == nil && own == nil {
		err = p.confirm(ctx)
	}
	if err != nil {
		return err
	}
	if err := p.chooseUser(ctx, own); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: p.namespace,
		Labels: map[string]string{
			hyperv1.HostedControlPlaneLabel:                  "true",
			"security.openshift.io/scc.podSecurityLabelSync": "false",
		},
		Annotations: map[string]string{},
	}}
	level, err := p.podSecurity(ctx, own)
	if err != nil {
		return err
	}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		namespace.Labels[podSecurityPrefix+mode] = level
	}
	if p.ClusterMonitoring {
		namespace.Labels["openshift.io/cluster-monitoring"] = "true"
	}
	if id := p.hc.Annotations[hyperv1.AzureMachineIdentityAnnotation]; id != "" {
		namespace.Annotations[hyperv1.AzureMachineIdentityAnnotation] = id
	}
	if p.userID != nil {
		namespace.Annotations[hyperv1.DefaultSecurityContextUID] = strconv.FormatInt(*p.userID, 10)
	}
	if err := p.apply(ctx, namespace); err != nil {
		return err
	}
	return p.apply(ctx,
		// Pods without an own service account, and init containers of foreign operators, pull with the user's secret too.
		&corev1.ServiceAccount{
			ObjectMeta:       metav1.ObjectMeta{Name: "default", Namespace: p.namespace},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: component.PullSecret}},
		},
		// The management cluster fills in the certificates it trusts, its proxy's among them, unless they were given to the operator.
		p.Proxy.TrustBundleConfigMap(p.namespace),
	)
}

// readNamespace reads the control-plane namespace, nil when there is none; one that belongs to somebody else is an error.
func (p *pass) readNamespace(ctx context.Context) (*corev1.Namespace, error) {
	own := &corev1.Namespace{}
	err := p.Get(ctx, client.ObjectKey{Name: p.namespace}, own)
	if apierrors.IsNotFound(err) {
		// The cache may lag behind the pass that made it, and a second choice of the user id would differ.
		err = p.Live.Get(ctx, client.ObjectKey{Name: p.namespace}, own)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", p.namespace, err)
	}
	if owner := own.Annotations[hyperv1.HostedClusterAnnotation]; owner != p.hc.Namespace+"/"+p.hc.Name {
		return nil, fmt.Errorf("namespace %s exists and is not this cluster's (annotation %s is %q); delete it or choose another name for the cluster",
			p.namespace, hyperv1.HostedClusterAnnotation, owner)
	}
	return own, nil
}

// apply writes children, each with the reference back to the HostedCluster.
func (p *pass) apply(ctx context.Context, objects ...client.Object) error {
	for _, obj := range objects {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[hyperv1.HostedClusterAnnotation] = p.hc.Namespace + "/" + p.hc.Name
		obj.SetAnnotations(annotations)
	}
	return p.keeper.Apply(ctx, p.Client, fieldManager, objects...)
}

// userIDs serialises the choice of user ids: two clusters created at once must not get the same.
type userIDs struct{ sync.Mutex }

// chooseUser finds the user id of the namespace's pods where the management cluster does not assign one. An id is unique, so that
// a process that leaves its container meets no file of another control plane.
func (p *pass) chooseUser(ctx context.Context, own *corev1.Namespace) error {
	if p.Capabilities.SecurityContextConstraints {
		return nil
	}
	if own != nil {
		if id, ok := userOf(own); ok {
			p.userID = &id
			return nil
		}
	}
	all := &corev1.NamespaceList{}
	if err := p.Live.List(ctx, all, client.MatchingLabels{hyperv1.HostedControlPlaneLabel: "true"}); err != nil {
		return fmt.Errorf("list control-plane namespaces: %w", err)
	}
	taken := map[int64]bool{}
	for i := range all.Items {
		if id, ok := userOf(&all.Items[i]); ok {
			taken[id] = true
		}
	}
	for id := int64(firstUserID); id <= lastUserID; id++ {
		if !taken[id] {
			p.userID = &id
			return nil
		}
	}
	return fmt.Errorf("no user id is free between %d and %d: this management cluster is full; delete a hosted cluster", firstUserID, lastUserID)
}

func userOf(namespace *corev1.Namespace) (int64, bool) {
	id, err := strconv.ParseInt(namespace.Annotations[hyperv1.DefaultSecurityContextUID], 10, 64)
	return id, err == nil
}

func (p *pass) readSecret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := p.Get(ctx, client.ObjectKey{Namespace: p.hc.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", p.hc.Namespace, name, err)
	}
	return secret, nil
}

func (p *pass) readConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	configMap := &corev1.ConfigMap{}
	if err := p.Get(ctx, client.ObjectKey{Namespace: p.hc.Namespace, Name: name}, configMap); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", p.hc.Namespace, name, err)
	}
	return configMap, nil
}

// deleteIn removes an object of the control-plane namespace that is no longer wanted.
func (p *pass) deleteIn(ctx context.Context, obj client.Object, name string) error {
	obj.SetNamespace(p.namespace)
	obj.SetName(name)
	// Looked up in the cache first: deleting what is not there would be a request per pass.
	if err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read %s: %w", kube.Describe(obj), err)
	}
	return kube.DeleteIfExists(ctx, p.Client, obj)
}
