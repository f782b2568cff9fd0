package cluster

import (
	"context"
	"fmt"
	"os"

	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/existing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/inventory"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// tellPlan prints what would be created, in Azure and on the management cluster.
func (c *creation) tellPlan(ctx context.Context, r resolved) error {
	t, cluster := r.typed, r.cluster
	var steps []stack.Step
	var err error
	if t.infraJSON != "" {
		cluster, err = c.place(ctx, r)
	} else {
		steps, err = infra.Plan(ctx, r.session, r.infra)
	}
	if err != nil {
		return err
	}
	if t.infraJSON == "" && !t.given("infra-id") && r.existing == nil && c.record.Path == "" {
		c.say("infrastructure id %[1]s is chosen anew by each run; --infra-id %[1]s keeps it", r.infra.InfraID)
	}
	objects, err := stepsOf(ctx, r, cluster)
	if err != nil {
		return err
	}
	if err := t.PrintPlan(c.cmd.OutOrStdout(), append(steps, objects...)); err != nil || t.Output != "" {
		return err
	}
	return c.tellOrigins(r)
}

// stepsOf says what would become of each object.
func stepsOf(ctx context.Context, r resolved, cluster manifest.Cluster) ([]stack.Step, error) {
	var steps []stack.Step
	add := func(kind, name, action string) {
		steps = append(steps, stack.Step{Kind: kind, Name: cluster.Namespace + "/" + name, Action: action})
	}
	objs := cluster.Objects()
	steps = append(steps, stack.Step{Kind: kindOf(objs[0]), Name: objs[0].GetName(), Action: "apply"})
	add("Secret", inventory.Name(cluster.Name), "apply")
	if r.existing == nil {
		for _, obj := range objs[1:] {
			add(kindOf(obj), obj.GetName(), "apply")
		}
		return steps, nil
	}
	steps[0].Action = "keep"
	add(kindOf(cluster.HostedCluster()), r.existing.Name, "keep")
	missing, err := existing.Missing(ctx, r.client, r.typed.wishes(), r.existing, cluster)
	for _, obj := range missing {
		add(kindOf(obj), obj.GetName(), "create")
	}
	return steps, err
}

// clusterResult is what a run prints for a program.
type clusterResult struct {
	Name        string                `json:"name"`
	Namespace   string                `json:"namespace"`
	InfraID     string                `json:"infraID"`
	Objects     []stack.Step          `json:"objects"`
	Differences []existing.Difference `json:"differences,omitempty"`
}

func (c *creation) printResult(r resolved, cluster manifest.Cluster, done []stack.Step) error {
	if r.typed.Output == "" {
		return nil
	}
	return printing.Object(c.cmd.OutOrStdout(), r.typed.Output, clusterResult{cluster.Name, cluster.Namespace, cluster.Infra.InfraID, append([]stack.Step{}, done...), r.differences})
}

// tellNext names the commands that a person types next.
func (c *creation) tellNext(cluster manifest.Cluster) {
	out := c.cmd.ErrOrStderr()
	fmt.Fprintf(out, `next: kubectl -n %[1]s wait hostedcluster/%[2]s --for=condition=Available --timeout=15m
      hypershift create kubeconfig %[2]s --namespace %[1]s --output-file %[2]s.kubeconfig
      kubectl --kubeconfig %[2]s.kubeconfig get nodes
`, cluster.Namespace, cluster.Name)
}

func (c *creation) writeManifests(t typed, cluster manifest.Cluster) error {
	if t.renderInto == "" {
		return manifest.Render(c.cmd.OutOrStdout(), cluster.Objects(), t.renderSensitive)
	}
	file, err := os.OpenFile(t.renderInto, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write --render-into: %w", err)
	}
	if err := manifest.Render(file, cluster.Objects(), t.renderSensitive); err != nil {
		return err
	}
	return file.Close()
}
