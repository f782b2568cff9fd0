// Package isolation keeps the namespace of a control plane, and the network policies that close it.
package isolation

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

const (
	firstUserID, lastUserID = 1001, 11000

	podSecurityPrefix     = "pod-security.kubernetes.io/"
	podSecurityRestricted = "restricted"
	podSecurityPrivileged = "privileged"
)

// Namespaces makes control-plane namespaces. It serialises the choice of user ids: two clusters created at once must not get the same.
type Namespaces struct{ mu sync.Mutex }

// NamespaceSettings are what a control-plane namespace follows beside its HostedCluster.
type NamespaceSettings struct {
	// AssignUsers: this operator chooses the user id of pods, because the management cluster does not.
	AssignUsers bool
	// Monitoring lets the management cluster's monitoring scrape the control plane.
	Monitoring bool
	// Proxy is the way out of the management cluster.
	Proxy proxyenv.Proxy
	// Labels are what the image of the control-plane operator says of itself, nil where nothing asks for them. LabelsKnown is false when
	// they could not be read.
	Labels      map[string]string
	LabelsKnown bool
}

// Ensure makes the control-plane namespace and what every pod in it relies on. It returns the user id of the pods, nil where the
// management cluster chooses one.
func (n *Namespaces) Ensure(ctx context.Context, c *cluster.Cluster, settings NamespaceSettings) (*int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	own, err := tenancy.Read(ctx, c.Client, c.Live, tenancy.Of(c.Hosted))
	if err != nil {
		return nil, err
	}
	level, err := podSecurity(c.Hosted, settings, own)
	if err != nil {
		return nil, err
	}
	if own == nil {
		if err := create(ctx, c); err != nil {
			return nil, err
		}
	}
	var user *int64
	if settings.AssignUsers {
		if user, err = chooseUser(ctx, c, own); err != nil {
			return nil, err
		}
	}
	if err := c.Apply(ctx, namespace(c, settings, level, user)); err != nil {
		return user, err
	}
	return user, c.Apply(ctx,
		// Pods without an own service account, and init containers of foreign operators, pull with the user's secret too.
		&corev1.ServiceAccount{
			ObjectMeta:       metav1.ObjectMeta{Name: "default", Namespace: c.Namespace},
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: contract.PullSecret}},
		},
		// The management cluster fills in the certificates it trusts, its proxy's among them, unless they were given to the operator.
		settings.Proxy.TrustBundleConfigMap(c.Namespace),
	)
}

func namespace(c *cluster.Cluster, settings NamespaceSettings, level string, user *int64) *corev1.Namespace {
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: c.Namespace,
		Labels: map[string]string{
			hyperv1.HostedControlPlaneLabel: "true",
			contract.PodSecuritySyncLabel:   "false",
		},
		Annotations: map[string]string{hyperv1.HostedClusterUIDAnnotation: string(c.Hosted.UID)},
	}}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		made.Labels[podSecurityPrefix+mode] = level
	}
	if settings.Monitoring {
		made.Labels[contract.ClusterMonitoringLabel] = "true"
	}
	if id := c.Hosted.Annotations[hyperv1.AzureMachineIdentityAnnotation]; id != "" {
		made.Annotations[hyperv1.AzureMachineIdentityAnnotation] = id
	}
	if user != nil {
		made.Annotations[hyperv1.DefaultSecurityContextUID] = strconv.FormatInt(*user, 10)
	}
	return made
}

// podSecurity is the standard that the control plane's namespace enforces. An operator that does not say that it keeps to the restricted
// one may not. What is not known now does not change what holds.
func podSecurity(hc *hyperv1.HostedCluster, settings NamespaceSettings, own *corev1.Namespace) (string, error) {
	if override := cluster.PodSecurityOverride(hc); override != "" {
		return override, nil
	}
	if !settings.LabelsKnown {
		if own != nil && own.Labels[podSecurityPrefix+"enforce"] != "" {
			return own.Labels[podSecurityPrefix+"enforce"], nil
		}
		return "", &steps.Waiting{For: "the labels of the control-plane operator's image"}
	}
	if settings.Labels[release.LabelRestricted] == "true" {
		return podSecurityRestricted, nil
	}
	return podSecurityPrivileged, nil
}

// create makes the namespace with the proof of whose it is. One that somebody else makes at the same time is not taken over.
func create(ctx context.Context, c *cluster.Cluster) error {
	if err := c.Confirm(ctx); err != nil {
		return err
	}
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace, Annotations: map[string]string{
		hyperv1.HostedClusterAnnotation: c.Reference(), hyperv1.HostedClusterUIDAnnotation: string(c.Hosted.UID),
	}}}
	if err := c.Client.Create(ctx, made, client.FieldOwner(cluster.FieldManager)); err != nil {
		return fmt.Errorf("make namespace %s: %w", c.Namespace, err)
	}
	return nil
}

// chooseUser finds the user id of the namespace's pods where the management cluster does not assign one. An id is unique, so that
// a process that leaves its container meets no file of another control plane.
func chooseUser(ctx context.Context, c *cluster.Cluster, own *corev1.Namespace) (*int64, error) {
	if own != nil {
		if id, ok := userOf(own); ok {
			return &id, nil
		}
	}
	all := &corev1.NamespaceList{}
	if err := c.Live.List(ctx, all, client.MatchingLabels{hyperv1.HostedControlPlaneLabel: "true"}); err != nil {
		return nil, fmt.Errorf("list control-plane namespaces: %w", err)
	}
	taken := map[int64]bool{}
	for i := range all.Items {
		if id, ok := userOf(&all.Items[i]); ok {
			taken[id] = true
		}
	}
	for id := int64(firstUserID); id <= lastUserID; id++ {
		if !taken[id] {
			return &id, nil
		}
	}
	return nil, fmt.Errorf("no user id is free between %d and %d: this management cluster is full; delete a hosted cluster", firstUserID, lastUserID)
}

func userOf(namespace *corev1.Namespace) (int64, bool) {
	id, err := strconv.ParseInt(namespace.Annotations[hyperv1.DefaultSecurityContextUID], 10, 64)
	return id, err == nil
}
