package cluster

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// cidrList is a list of ranges with the name that error messages use and the flag it came from.
type cidrList struct {
	name, flag string
	values     []string
}

// validateRanges checks the ranges against each other.
func (t typed) validateRanges() error {
	n := t.cluster.Networking
	_, err := parseCIDRs(
		cidrList{"ClusterCIDR", "--cluster-cidr", n.ClusterCIDRs}, cidrList{"ServiceCIDR", "--service-cidr", n.ServiceCIDRs},
		cidrList{"MachineCIDR", "--machine-cidr", n.MachineCIDRs},
	)
	return err
}

// loadRanges keeps those that the virtual network must not have: machine ranges are its own.
func (v *validated) loadRanges() (err error) {
	n := v.cluster.Networking
	v.infra.Ranges, err = parseCIDRs(cidrList{"ClusterCIDR", "--cluster-cidr", n.ClusterCIDRs}, cidrList{"ServiceCIDR", "--service-cidr", n.ServiceCIDRs})
	return err
}

const ipv4Only = "the virtual network, the load balancer and the public addresses of a hosted cluster are IPv4 alone, so pods, Services and machines are as well"

// parseCIDRs parses all lists and refuses overlaps: traffic to a shared address would have two meanings.
func parseCIDRs(lists ...cidrList) ([]infra.Range, error) {
	var seen []infra.Range
	for _, list := range lists {
		for _, value := range list.values {
			prefix, err := netip.ParsePrefix(value)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s %q is no range such as 10.132.0.0/14: parsing %s: an IPv4 address, a slash and a number of bits from 0 to 32", list.flag, value, list.name)
			case !prefix.Addr().Is4():
				return nil, fmt.Errorf("%s %s is IPv6: %s", list.flag, prefix, ipv4Only)
			case prefix != prefix.Masked():
				return nil, fmt.Errorf("%s %s is an address within a range; the range is %s", list.flag, prefix, prefix.Masked())
			}
			for _, other := range seen {
				if other.Prefix.Overlaps(prefix) {
					return nil, fmt.Errorf("%s %s overlaps %s %s; give one of them another range", list.flag, prefix, other.Name, other.Prefix)
				}
			}
			seen = append(seen, infra.Range{Name: list.flag, Prefix: prefix})
		}
	}
	return seen, nil
}

// checkManagementRanges refuses ranges that the management cluster uses: the control plane is there, and could not tell which of the two
// is meant.
func (c *creation) checkManagementRanges(ctx context.Context, in client.Client, ours []infra.Range) error {
	theirs, err := managementRanges(ctx, in)
	if err != nil {
		c.say("warning: cannot see which addresses the management cluster uses: %v", err)
		return nil
	}
	return checkOverlaps(ours, theirs)
}

// checkOverlaps refuses ranges of ours that the management cluster uses.
func checkOverlaps(ours []infra.Range, theirs []string) error {
	for _, own := range ours {
		for _, text := range theirs {
			if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Overlaps(own.Prefix) {
				return fmt.Errorf("%s %s overlaps %s, addresses of the management cluster's pods or Services; choose another range", own.Name, own.Prefix, prefix)
			}
		}
	}
	return nil
}

// managementRanges are those of the management cluster's own configuration, or else of its nodes and of its Services.
func managementRanges(ctx context.Context, c client.Client) ([]string, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Network"})
	err := c.Get(ctx, client.ObjectKey{Name: "cluster"}, config)
	if err == nil {
		found, _, _ := unstructured.NestedStringSlice(config.Object, "spec", "serviceNetwork")
		pods, _, _ := unstructured.NestedSlice(config.Object, "spec", "clusterNetwork")
		for _, entry := range pods {
			network, _ := entry.(map[string]any)
			if cidr, ok := network["cidr"].(string); ok {
				found = append(found, cidr)
			}
		}
		return found, nil
	}
	if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return nil, err
	}
	return plainRanges(ctx, c)
}

func plainRanges(ctx context.Context, c client.Client) ([]string, error) {
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes); err != nil {
		return nil, err
	}
	var found []string
	for i := range nodes.Items {
		found = append(found, nodes.Items[i].Spec.PodCIDRs...)
	}
	services := &networkingv1.ServiceCIDRList{} // since Kubernetes 1.33
	err := c.List(ctx, services)
	for i := range services.Items {
		found = append(found, services.Items[i].Spec.CIDRs...)
	}
	if meta.IsNoMatchError(err) {
		err = nil
	}
	return found, err
}
