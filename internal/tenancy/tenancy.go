// Package tenancy tells whose a control-plane namespace is. Its name is no proof: HostedCluster prod in namespace acme-dev and
// HostedCluster dev-prod in namespace acme lead to the same one. The namespace has the proof, because only the operator writes it.
package tenancy

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Refusal says why nothing is done for a HostedCluster in the namespace that its name leads to.
type Refusal struct{ why string }

// Error implements error.
func (r *Refusal) Error() string { return r.why }

// IsRefusal tells a Refusal from a failure to find out.
func IsRefusal(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal)
}

// Tenant is a HostedCluster, as far as namespaces are concerned.
type Tenant struct {
	Namespace, Name string
	// UID is empty where the HostedCluster is gone; then the name has to do.
	UID types.UID
}

// Of is the tenant of a HostedCluster.
func Of(hc *hyperv1.HostedCluster) Tenant {
	return Tenant{Namespace: hc.Namespace, Name: hc.Name, UID: hc.UID}
}

// Reference is the value of hyperv1.HostedClusterAnnotation on what is the tenant's.
func (t Tenant) Reference() string { return t.Namespace + "/" + t.Name }

// Read returns the tenant's control-plane namespace, nil when there is none. Other errors than a *Refusal are of reading. live reads past
// the cache, which may lag behind the pass that made the namespace.
func Read(ctx context.Context, cached, live client.Reader, t Tenant) (*corev1.Namespace, error) {
	home, err := get(ctx, cached, nil, t.Namespace)
	if err != nil {
		return nil, err
	}
	if home != nil && home.Labels[hyperv1.HostedControlPlaneLabel] == "true" {
		return nil, &Refusal{fmt.Sprintf("namespace %s is that of a control plane; nothing is done for HostedClusters and NodePools in it, make them in another namespace", t.Namespace)}
	}
	own, err := get(ctx, cached, live, contract.ControlPlaneNamespace(t.Namespace, t.Name))
	if err != nil || own == nil {
		return nil, err
	}
	return own, t.owns(own)
}

func get(ctx context.Context, cached, live client.Reader, name string) (*corev1.Namespace, error) {
	found := &corev1.Namespace{}
	err := cached.Get(ctx, client.ObjectKey{Name: name}, found)
	if apierrors.IsNotFound(err) && live != nil {
		err = live.Get(ctx, client.ObjectKey{Name: name}, found)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return found, nil
}

// owns returns a *Refusal when the namespace is somebody else's. A namespace of an operator before this one has no UID yet; its reference,
// in which a slash divides the two names, is unambiguous.
func (t Tenant) owns(namespace *corev1.Namespace) error {
	owner, uid := namespace.Annotations[hyperv1.HostedClusterAnnotation], namespace.Annotations[hyperv1.HostedClusterUIDAnnotation]
	switch {
	case owner != t.Reference():
		// Whose it is may be no business of this tenant.
		return &Refusal{fmt.Sprintf("namespace %s exists and is not this cluster's (annotation %s); choose another name for the cluster, or have an administrator delete the namespace if nothing needs it",
			namespace.Name, hyperv1.HostedClusterAnnotation)}
	case uid != "" && t.UID != "" && uid != string(t.UID):
		return &Refusal{fmt.Sprintf("namespace %[1]s exists and is not this cluster's but that of a former HostedCluster of the same name; have an administrator delete it, or hand it over: kubectl annotate namespace %[1]s --overwrite %[2]s=%[3]s",
			namespace.Name, hyperv1.HostedClusterUIDAnnotation, t.UID)}
	}
	return nil
}
