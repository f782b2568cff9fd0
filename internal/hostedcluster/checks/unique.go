package checks

import (
	"context"
	"fmt"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

// Unique refuses a HostedCluster whose place in Azure an older one has: both would make, tag and delete the same resources. It refuses one
// whose host names another has, to which clients and records would be led. Whose they are may be no business of this cluster's user. It
// returns what is wrong with the HostedCluster; the error is of reading the others.
func Unique(ctx context.Context, c *cluster.Cluster) ([]error, error) {
	all := &hyperv1.HostedClusterList{}
	if err := c.Client.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list HostedClusters: %w", err)
	}
	var problems []error
	for i := range all.Items {
		other := &all.Items[i]
		if other.UID == c.Hosted.UID {
			continue
		}
		hosts, err := claimedHosts(ctx, c, other)
		if err != nil {
			return nil, err
		}
		problems = append(problems, hosts...)
		if !before(other, c.Hosted) {
			continue
		}
		if other.Spec.InfraID == c.Hosted.Spec.InfraID {
			problems = append(problems, fmt.Errorf("spec.infraID %q is that of another HostedCluster, which is older; give each cluster infrastructure of its own", c.Hosted.Spec.InfraID))
		}
		if group := mainGroup(c.Hosted); group != "" && strings.EqualFold(group, mainGroup(other)) {
			problems = append(problems, fmt.Errorf("spec.platform.azure.resourceGroup %q is that of another HostedCluster, which is older; give each cluster a resource group of its own",
				c.Hosted.Spec.Platform.Azure.ResourceGroupName))
		}
	}
	return problems, nil
}

// before orders two HostedClusters in the same way whoever asks.
func before(a, b *hyperv1.HostedCluster) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// mainGroup is where the cluster's virtual machines and load balancers are: subscription and group; empty without one.
func mainGroup(hc *hyperv1.HostedCluster) string {
	azure := hc.Spec.Platform.Azure
	if azure == nil || azure.ResourceGroupName == "" {
		return ""
	}
	return azure.SubscriptionID + "/" + azure.ResourceGroupName
}
