package isolation

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forbiddenPeriod is how long the addresses of the management cluster's API servers are believed: they seldom change, and every
// hosted cluster's pass asks for them.
const forbiddenPeriod = time.Minute

// Networks are the addresses of the management cluster that a control plane's router has no business with.
type Networks struct {
	mu    sync.Mutex
	until time.Time
	last  []string
}

func (n *Networks) read(ctx context.Context, live client.Reader, now time.Time) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Before(n.until) {
		return n.last, nil
	}
	servers, err := apiServerAddresses(ctx, live)
	if err != nil {
		return nil, err
	}
	pods, err := podNetworks(ctx, live)
	if err != nil {
		return nil, err
	}
	n.last, n.until = append(servers, pods...), now.Add(forbiddenPeriod)
	return n.last, nil
}

func apiServerAddresses(ctx context.Context, live client.Reader) ([]string, error) {
	endpoints := &discoveryv1.EndpointSliceList{}
	if err := live.List(ctx, endpoints, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return nil, fmt.Errorf("read the addresses of the management cluster's API servers: %w", err)
	}
	var found []string
	for _, slice := range endpoints.Items {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				// The block they are excepted from is of IPv4.
				if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
					found = append(found, netip.PrefixFrom(address, address.BitLen()).String())
				}
			}
		}
	}
	// In one order, whatever that of the answer: it becomes part of an object.
	slices.Sort(found)
	return slices.Compact(found), nil
}

// podNetworks are those of the management cluster's own configuration, or those of its nodes.
func podNetworks(ctx context.Context, live client.Reader) ([]string, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Network"})
	err := live.Get(ctx, client.ObjectKey{Name: "cluster"}, config)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nodePodNetworks(ctx, live)
	}
	if err != nil {
		return nil, fmt.Errorf("read the management cluster's Network configuration: %w", err)
	}
	entries, _, err := unstructured.NestedSlice(config.Object, "spec", "clusterNetwork")
	if err != nil {
		return nil, fmt.Errorf("the management cluster's Network configuration is malformed: %w", err)
	}
	var found []string
	for _, entry := range entries {
		network, _ := entry.(map[string]any)
		text, _ := network["cidr"].(string)
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			found = append(found, prefix.String())
		}
	}
	return found, nil
}

// nodePodNetworks is what the nodes of a plain management cluster have for their pods; with networks that are assigned in another
// way it is empty, and install's --hcp-egress-block-cidrs names them.
func nodePodNetworks(ctx context.Context, live client.Reader) ([]string, error) {
	nodes := &corev1.NodeList{}
	if err := live.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("read the pod networks of the management cluster's nodes: %w", err)
	}
	var found []string
	for _, node := range nodes.Items {
		for _, text := range node.Spec.PodCIDRs {
			if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
				found = append(found, prefix.String())
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
