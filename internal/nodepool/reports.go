package nodepool

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

// maxReport bounds what one machine says in a condition, in bytes: others have a word, too.
const maxReport = 500

// readReports takes what machines say of why they are no nodes yet out of the pool's token secrets. What a machine says that the pool does
// not have, or that is a healthy node, is removed there.
func (r *Reconciler) readReports(ctx context.Context, p *pass) error {
	secrets, err := r.poolSecrets(ctx, p)
	if err != nil {
		return err
	}
	waiting := map[string]bool{}
	for _, m := range p.machines {
		// The virtual machine has the name of its infrastructure object.
		waiting[m.Spec.InfrastructureRef.Name] = healthProblem(m) != nil && m.DeletionTimestamp == nil
	}
	p.reports = map[string]machinereport.Report{}
	for i := range secrets {
		changed := secrets[i].DeepCopy()
		if machinereport.Drop(changed, func(machine string) bool { return !waiting[machine] }) {
			if err := r.client.Patch(ctx, changed, client.MergeFrom(&secrets[i])); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("drop reports of machines from %s: %w", changed.Name, err)
			}
		}
		maps.Copy(p.reports, machinereport.Of(changed))
	}
	return nil
}

// withReport adds to what is known of a machine how far it is, since when, and its own words.
func (p *pass) withReport(m capiv1.Machine, found *problem) *problem {
	if found == nil {
		return nil
	}
	report := p.reports[m.Spec.InfrastructureRef.Name]
	var words []string
	if found.message != "" {
		words = append(words, found.message)
	}
	if stage, since := observed.StageOf(m, report); stage != "" {
		words = append(words, fmt.Sprintf("stage %s since %s", stage, since.UTC().Format(time.RFC3339)))
	}
	if report.Text != "" {
		words = append(words, "the machine says: "+kube.Shorten(report.Text, maxReport))
	}
	return &problem{found.machine, found.reason, strings.Join(words, "; ")}
}
