package destroy

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// refuseShared refuses to destroy an infrastructure that another HostedCluster names too. Whoever may write a HostedCluster chooses the
// infrastructure that it names, and our tags cannot tell the two apart.
func (o *options) refuseShared(ctx context.Context, c client.Client, key client.ObjectKey, say func(string, ...any)) error {
	all := &hyperv1.HostedClusterList{}
	err := c.List(ctx, all)
	if apierrors.IsForbidden(err) {
		say("warning: HostedClusters outside namespace %s cannot be listed; whether one of them has infrastructure %s is not known", key.Namespace, o.InfraID)
		err = c.List(ctx, all, client.InNamespace(key.Namespace))
	}
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list the HostedClusters, one of which may have infrastructure %s: %w", o.InfraID, err)
	}
	for i := range all.Items {
		other := client.ObjectKeyFromObject(&all.Items[i])
		if other != key && strings.EqualFold(all.Items[i].Spec.InfraID, o.InfraID) {
			return fmt.Errorf("nothing was destroyed: HostedCluster %s names infrastructure %s too, and Azure does not tell whose it is; find that out, and delete the HostedCluster without a right to it first, with kubectl", other, o.InfraID)
		}
	}
	return nil
}

// isUsersWord tells whether the main resource group is the one that the user has typed, or that the file which he gave has.
func (o *options) isUsersWord(typed string) bool {
	if typed != "" {
		return true
	}
	if o.handoff.File == nil || !strings.EqualFold(o.handoff.InfraID, o.InfraID) {
		return false
	}
	known := infra.DestroyOptions{}
	o.handoff.Demolish(&known)
	return known.ResourceGroup != "" && strings.EqualFold(known.ResourceGroup, o.ResourceGroup)
}

// confirm asks a person, if one sits there, whether a group goes that nothing proves to be the cluster's. A plan asks nobody.
func (o *options) confirm(cmd *cobra.Command) func(infra.Unproven) bool {
	return func(u infra.Unproven) bool {
		if o.yes || o.DryRun {
			return o.yes
		}
		meant, _ := command.Ask(cmd, fmt.Sprintf("warning: resource group %s: %s, but it has not the name of one that was made for this cluster\nDelete it with everything in it? Type yes: ", u.Group, u.Why))
		return meant
	}
}
