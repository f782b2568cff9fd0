package nodepool

import (
	"context"
	"fmt"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/cli/imagecheck"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

// looker looks whether Azure can have what is asked for.
type looker func(context.Context, *azure.Session, feasibility.Options) ([]preflight.Check, error)

// lookAhead asks Azure, where there are credentials, whether it can have the pool's machines. What fails ends the command.
func (f *nodePoolFlags) lookAhead(ctx context.Context, hc *hyperv1.HostedCluster, warn imagecheck.Warn) error {
	if f.credentials == "" || f.look == nil {
		return nil
	}
	credentials, err := azure.ReadCredentials(f.credentials)
	if err != nil {
		return err
	}
	of := hc.Spec.Platform.Azure
	if credentials.SubscriptionID != of.SubscriptionID {
		return fmt.Errorf("--azure-creds is of subscription %s, and HostedCluster %s of subscription %s, where the machines will be; give credentials of that one",
			credentials.SubscriptionID, hc.Name, of.SubscriptionID)
	}
	session, err := azure.NewSession(credentials, of.Cloud)
	if err != nil {
		return err
	}
	o := feasibility.Options{Machines: feasibility.OfPool(f.Pool(), 1, nil)}
	o.Infra.Location = of.Location
	o.Machines.Image = func(context.Context) feasibility.Image { return feasibility.ImageOf(f.NodePool, f.payload) }
	checks, err := f.look(ctx, session, o)
	if err != nil {
		return err
	}
	return feasibility.Refused(checks, warn, "without --azure-creds Azure is not asked")
}
