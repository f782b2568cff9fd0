package cli

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// plan prints what would be created, in Azure and on the management cluster.
func (c *clusterCreator) plan(ctx context.Context, session *azure.Session) error {
	f := c.flags
	var steps []stack.Step
	var err error
	if f.infraJSON != "" {
		err = c.infrastructure(ctx, session)
	} else {
		steps, err = infra.Plan(ctx, session, f.infra)
	}
	if err != nil {
		return err
	}
	if f.infraJSON == "" && !c.typed("infra-id") && c.existing == nil && f.handoff.path == "" {
		c.say("infrastructure id %[1]s is chosen anew by each run; --infra-id %[1]s keeps it", f.infra.InfraID)
	}
	objects, err := c.planObjects(ctx)
	if err != nil {
		return err
	}
	return f.printPlan(c.cmd.OutOrStdout(), append(steps, objects...))
}

// planObjects says what would become of each object.
func (c *clusterCreator) planObjects(ctx context.Context) ([]stack.Step, error) {
	var steps []stack.Step
	add := func(kind, name, action string) {
		steps = append(steps, stack.Step{Kind: kind, Name: c.flags.cluster.Namespace + "/" + name, Action: action})
	}
	kindOf := func(obj client.Object) string { return obj.GetObjectKind().GroupVersionKind().Kind }
	objs := c.flags.cluster.Objects()
	steps = append(steps, stack.Step{Kind: kindOf(objs[0]), Name: objs[0].GetName(), Action: "apply"})
	add("Secret", inventoryName(c.flags.cluster.Name), "apply")
	if c.existing == nil {
		for _, obj := range objs[1:] {
			add(kindOf(obj), obj.GetName(), "apply")
		}
		return steps, nil
	}
	steps[0].Action = "keep"
	add(kindOf(c.flags.cluster.HostedCluster()), c.existing.Name, "keep")
	missing, err := c.missing(ctx)
	for _, obj := range missing {
		add(kindOf(obj), obj.GetName(), "create")
	}
	return steps, err
}

// finish applies the manifests, and tells what there is then and what comes next.
func (c *clusterCreator) finish(ctx context.Context) error {
	if c.existing == nil {
		if err := c.remember(); err != nil {
			return err
		}
	}
	if err := c.apply(ctx); err != nil {
		return err
	}
	if c.flags.wait {
		if err := c.waitForCluster(ctx); err != nil {
			return err
		}
	}
	c.tellNext()
	return c.printResult()
}

// clusterResult is what a run prints for a program.
type clusterResult struct {
	Name        string       `json:"name"`
	Namespace   string       `json:"namespace"`
	InfraID     string       `json:"infraID"`
	Objects     []stack.Step `json:"objects"`
	Differences []difference `json:"differences,omitempty"`
}

func (c *clusterCreator) printResult() error {
	f := c.flags
	if f.output == "" {
		return nil
	}
	return printObject(c.cmd.OutOrStdout(), f.output, clusterResult{f.cluster.Name, f.cluster.Namespace, f.cluster.Infra.InfraID, append([]stack.Step{}, c.result...), c.differences})
}

// tellNext names the commands that a person types next.
func (c *clusterCreator) tellNext() {
	out, cluster := c.cmd.ErrOrStderr(), &c.flags.cluster
	fmt.Fprintf(out, `next: kubectl -n %[1]s wait hostedcluster/%[2]s --for=condition=Available --timeout=15m
      hypershift create kubeconfig %[2]s --namespace %[1]s --output-file %[2]s.kubeconfig
      kubectl --kubeconfig %[2]s.kubeconfig get nodes
`, cluster.Namespace, cluster.Name)
}

func (c *clusterCreator) writeManifests() error {
	f := c.flags
	out := c.cmd.OutOrStdout()
	if f.renderInto == "" {
		return manifest.Render(out, f.cluster.Objects(), f.renderSensitive)
	}
	file, err := os.OpenFile(f.renderInto, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write --render-into: %w", err)
	}
	if err := manifest.Render(file, f.cluster.Objects(), f.renderSensitive); err != nil {
		return err
	}
	return file.Close()
}
