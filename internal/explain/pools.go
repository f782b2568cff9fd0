package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/health"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// summaries are the conditions of a NodePool that only sum its machines up, which are told one by one.
var summaries = []string{hyperv1.NodePoolReady, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy, hyperv1.NodePoolReachedIgnitionEndpoint}

// namedMachines is how many machines of one trouble are named.
const namedMachines = 3

// pool is a finding about a node pool; Healthy where nothing is wrong.
func (t *teller) pool(pool survey.Pool) Finding {
	out := Finding{Object: "NodePool " + pool.Namespace + "/" + pool.Name}
	for _, c := range pool.Object.Status.Conditions {
		if slices.Contains(summaries, c.Type) || !health.PoolFails(c.Type, string(c.Status)) || c.Reason == hyperv1.StatusUnknownReason {
			continue
		}
		since := c.LastTransitionTime.UTC()
		out.Because = append(out.Because, Finding{Object: out.Object, Condition: c.Type, Says: c.Message, Reason: c.Reason, Since: &since})
	}
	out.Because = append(out.Because, t.machines(pool)...)
	short := pool.Wanted > pool.Nodes || pool.Wanted < 0 && pool.Minimum > pool.Nodes
	if len(out.Because) == 0 && (short || pool.Progress == survey.Waiting || pool.Progress == survey.Deleting) {
		out.Because = t.summaries(pool, out.Object)
	}
	out.Healthy = len(out.Because) == 0 && !short
	switch {
	case pool.Progress == survey.Deleting:
		out.Says = fmt.Sprintf("is being deleted; %d machines are left", len(pool.Machines))
	case out.Healthy:
		out.Says = fmt.Sprintf("nothing is wrong: %d nodes", pool.Nodes)
	case pool.Wanted < 0:
		out.Says = fmt.Sprintf("%d nodes are available, of %d to %d", pool.Nodes, pool.Minimum, pool.Maximum)
	default:
		out.Says = fmt.Sprintf("%d of %d nodes are available", pool.Nodes, pool.Wanted)
	}
	return out
}

// summaries are told where no machine and no other condition says why.
func (t *teller) summaries(pool survey.Pool, object string) []Finding {
	var found []Finding
	for _, name := range summaries {
		c := survey.PoolCondition(pool.Object, name)
		if c == nil || !health.PoolFails(name, string(c.Status)) || c.Message == "" {
			continue
		}
		since := c.LastTransitionTime.UTC()
		found = append(found, Finding{Object: object, Condition: name, Says: c.Message, Reason: c.Reason, Since: &since})
	}
	return found
}

// creationTakes is how long Azure may make a machine before its start is in doubt: it calls one made that has told it so, which a machine without its
// configuration never does. Azure itself waits for twenty minutes and more.
const creationTakes = 3 * time.Minute

// trouble is what machines have in common.
type trouble struct{ stage, reason, message string }

// machines are findings about those that are not ready, one for each trouble.
func (t *teller) machines(pool survey.Pool) []Finding {
	var order []trouble
	by := map[trouble][]survey.Machine{}
	for _, m := range pool.Machines {
		if m.Stage == survey.Ready {
			continue
		}
		of := trouble{m.Stage, m.Reason, strings.ReplaceAll(strings.ReplaceAll(m.Message, m.Name, "it"), m.VM, "it")}
		if len(by[of]) == 0 {
			order = append(order, of)
		}
		by[of] = append(by[of], m)
	}
	var found []Finding
	for _, of := range order {
		machines := by[of]
		out := Finding{Object: named(machines), Condition: machines[0].Stage, Says: stages[of.stage], Reason: of.reason, Since: earliest(machines)}
		if machines[0].Message != "" {
			out.Evidence = append(out.Evidence, Evidence{"condition of " + machines[0].Name, machines[0].Message})
		}
		boots := of.stage == survey.Booting || of.stage == survey.Creating && t.Now.Sub(*out.Since) > creationTakes
		if reached := survey.PoolCondition(pool.Object, hyperv1.NodePoolReachedIgnitionEndpoint); boots && reached != nil && reached.Status == "False" {
			out.Evidence = append(out.Evidence, Evidence{"condition " + reached.Type + " of the NodePool", reached.Message})
			out.Reason = reached.Reason
		}
		if azure := pool.Object.Spec.Platform.Azure; azure != nil && boots {
			out.Evidence = append(out.Evidence, Evidence{"spec of the NodePool", "subnet " + azure.SubnetID})
		}
		found = append(found, out)
	}
	return found
}

// stages are what a stage means, in a sentence.
var stages = map[string]string{
	survey.Asked:    "is asked for, and Azure's provider has not said anything of it",
	survey.Creating: "is not made in Azure yet",
	survey.Booting:  "runs, and has not joined as a node",
	survey.Joined:   "has joined as a node that is not ready",
	survey.Failed:   "could not be made in Azure",
	survey.Deleting: "is being deleted, and is not gone",
}

func named(machines []survey.Machine) string {
	var names []string
	for _, m := range machines[:min(len(machines), namedMachines)] {
		names = append(names, m.Name)
	}
	more := ""
	if left := len(machines) - len(names); left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	if len(machines) == 1 {
		return "Machine " + names[0]
	}
	return "Machines " + strings.Join(names, ", ") + more
}

func earliest(machines []survey.Machine) *time.Time {
	first := machines[0].Since
	for _, m := range machines {
		if m.Since.Before(first) {
			first = m.Since
		}
	}
	if first.IsZero() {
		return nil
	}
	return &first
}
