package isolation

import (
	"cmp"
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

// Networks are the addresses of the management cluster that a control plane's pods have no business with.
type Networks struct {
	mu    sync.Mutex
	until time.Time
	last  management
}

// management is the management cluster's network, of IPv4: the blocks that something is excepted from are.
type management struct {
	// servers are the API servers, ports the numbers at which they listen.
	servers []netip.Prefix
	ports   []int32
	// pods are the networks of pods, empty where the management cluster does not tell them; nodes are the addresses of nodes.
	pods, nodes []netip.Prefix
}

// closed are the addresses of the management cluster, with further ones: each once, none that lies inside of another, in one order,
// because they become part of an object.
func (m management) closed(further ...netip.Prefix) []string {
	all := slices.Concat(m.servers, m.pods, m.nodes, further)
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	})
	var kept []netip.Prefix
	for _, prefix := range all {
		if !slices.ContainsFunc(kept, func(wider netip.Prefix) bool { return wider.Contains(prefix.Addr()) }) {
			kept = append(kept, prefix)
		}
	}
	texts := make([]string, 0, len(kept))
	for _, prefix := range kept {
		texts = append(texts, prefix.String())
	}
	return texts
}

func (n *Networks) read(ctx context.Context, live client.Reader, now time.Time) (management, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Before(n.until) {
		return n.last, nil
	}
	found, err := apiServers(ctx, live)
	if err != nil {
		return found, err
	}
	nodes := &corev1.NodeList{}
	if err := live.List(ctx, nodes); err != nil {
		return found, fmt.Errorf("read the addresses and pod networks of the management cluster's nodes: %w", err)
	}
	found.nodes = nodeAddresses(nodes)
	if found.pods, err = podNetworks(ctx, live, nodes); err != nil {
		return found, err
	}
	n.last, n.until = found, now.Add(forbiddenPeriod)
	return found, nil
}

func apiServers(ctx context.Context, live client.Reader) (management, error) {
	var found management
	endpoints := &discoveryv1.EndpointSliceList{}
	if err := live.List(ctx, endpoints, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}); err != nil {
		return found, fmt.Errorf("read the addresses of the management cluster's API servers: %w", err)
	}
	for _, slice := range endpoints.Items {
		for _, endpoint := range slice.Endpoints {
			found.servers = append(found.servers, hosts(endpoint.Addresses...)...)
		}
		for _, port := range slice.Ports {
			if port.Port != nil {
				found.ports = append(found.ports, *port.Port)
			}
		}
	}
	slices.SortFunc(found.servers, netip.Prefix.Compare)
	found.servers = slices.Compact(found.servers)
	slices.Sort(found.ports)
	found.ports = slices.Compact(found.ports)
	return found, nil
}

// hosts turns IPv4 addresses into /32 prefixes and drops all others.
func hosts(addresses ...string) []netip.Prefix {
	var found []netip.Prefix
	for _, text := range addresses {
		if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
			found = append(found, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return found
}

// networksOf parses IPv4 prefixes and drops all other texts.
func networksOf(texts ...string) []netip.Prefix {
	var found []netip.Prefix
	for _, text := range texts {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr().Is4() {
			found = append(found, prefix.Masked())
		}
	}
	return found
}

func nodeAddresses(nodes *corev1.NodeList) []netip.Prefix {
	var found []netip.Prefix
	for _, node := range nodes.Items {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP {
				found = append(found, hosts(address.Address)...)
			}
		}
	}
	return found
}

// podNetworks are those of the management cluster's own configuration, or those of its nodes.
func podNetworks(ctx context.Context, live client.Reader, nodes *corev1.NodeList) ([]netip.Prefix, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Network"})
	err := live.Get(ctx, client.ObjectKey{Name: "cluster"}, config)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nodePodNetworks(nodes), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the management cluster's Network configuration: %w", err)
	}
	entries, _, err := unstructured.NestedSlice(config.Object, "spec", "clusterNetwork")
	if err != nil {
		return nil, fmt.Errorf("the management cluster's Network configuration is malformed: %w", err)
	}
	var found []netip.Prefix
	for _, entry := range entries {
		network, _ := entry.(map[string]any)
		text, _ := network["cidr"].(string)
		found = append(found, networksOf(text)...)
	}
	return found, nil
}

// nodePodNetworks is what the nodes of a plain management cluster have for their pods; with networks that are assigned in another
// way it is empty, and install's --hcp-egress-block-cidrs names them.
func nodePodNetworks(nodes *corev1.NodeList) []netip.Prefix {
	var found []netip.Prefix
	for _, node := range nodes.Items {
		found = append(found, networksOf(node.Spec.PodCIDRs...)...)
	}
	return found
}
