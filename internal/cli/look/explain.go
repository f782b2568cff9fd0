package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// explainer are the flags of explain.
type explainer struct {
	namespace, operatorNamespace, kubeconfig, output string
	now                                              func() time.Time
}

// NewExplainCommand is explain.
func NewExplainCommand() *cobra.Command {
	return command.Parent("explain", "Say what is not ready, because of what, since when, and what to do",
		newExplainCommand("cluster", "Explain why a hosted cluster is not as it should be", management.CompleteClusters, (*explainer).cluster),
		newExplainCommand("nodepool", "Explain why a node pool is not as it should be", management.CompleteNodePools, (*explainer).pool))
}

// gathering reads facts about the named cluster.
type gathering func(ctx context.Context, name string) (*explain.Facts, error)

func newExplainCommand(what, short string, complete cobra.CompletionFunc, run func(*explainer, context.Context, client.Reader, gathering, string) (explain.Finding, []string, error)) *cobra.Command {
	e := &explainer{now: time.Now}
	cmd := &cobra.Command{
		Use:   what + " NAME",
		Short: short,
		Long: short + `: a tree of what is wrong because of what. Each leaf has
its evidence, in the words of a condition, of Azure, of an event or of a program's log, and what to do. Nothing is changed, and Azure is not
asked. The cases that are known are those of docs/reference/troubleshooting.md. Exit status 0 also when something is wrong: -o json tells it
by "healthy".`,
		Example: `  hypershift explain ` + what + ` demo
  hypershift explain ` + what + ` demo -o json`,
		Args:              command.OneName,
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := printing.CheckFormat(e.output); err != nil {
				return err
			}
			c, logs, err := management.Connect(e.kubeconfig)
			if err != nil {
				return err
			}
			tail := logs.Tail(explain.LogLines, explain.LogBytes)
			gather := func(ctx context.Context, name string) (*explain.Facts, error) {
				return explain.Gather(ctx, c, explain.Logs(tail), explain.Question{Namespace: e.namespace, Name: name, Operator: e.operatorNamespace, Now: e.now()})
			}
			told, unseen, err := run(e, cmd.Context(), c, gather, args[0])
			if err != nil {
				return err
			}
			return e.show(cmd.OutOrStdout(), cmd.ErrOrStderr(), told, unseen)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&e.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	flags.StringVar(&e.operatorNamespace, "operator-namespace", management.OperatorNamespace, "namespace of the operator and of ExternalDNS")
	flags.StringVarP(&e.output, "output", "o", "", "json or yaml; a tree by default")
	management.AddKubeconfig(cmd, &e.kubeconfig)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (e *explainer) cluster(ctx context.Context, c client.Reader, gather gathering, name string) (explain.Finding, []string, error) {
	facts, err := e.gather(ctx, c, gather, name)
	if err != nil {
		return explain.Finding{}, nil, err
	}
	return explain.Cluster(facts), facts.Unseen, nil
}

// pool finds the cluster of the pool first.
func (e *explainer) pool(ctx context.Context, c client.Reader, gather gathering, name string) (explain.Finding, []string, error) {
	np := &hyperv1.NodePool{}
	err := c.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, np)
	switch {
	case apierrors.IsNotFound(err):
		return explain.Finding{}, nil, management.NoNodePool(ctx, c, e.namespace, name)
	case err != nil:
		return explain.Finding{}, nil, management.Unread("NodePool", e.namespace, name, err)
	}
	facts, err := e.gather(ctx, c, gather, np.Spec.ClusterName)
	if err != nil {
		return explain.Finding{}, nil, err
	}
	told, ok := explain.NodePool(facts, name)
	if !ok {
		return told, nil, management.NoNodePool(ctx, c, e.namespace, name)
	}
	return told, facts.Unseen, nil
}

func (e *explainer) gather(ctx context.Context, c client.Reader, gather gathering, name string) (*explain.Facts, error) {
	facts, err := gather(ctx, name)
	switch {
	case errors.Is(err, survey.ErrNotInstalled):
		return nil, management.ErrNotInstalled
	case apierrors.IsNotFound(err):
		return nil, management.NoCluster(ctx, c, e.namespace, name)
	case err != nil:
		return nil, fmt.Errorf("cannot look at HostedCluster %s/%s: %w", e.namespace, name, err)
	}
	return facts, nil
}

// explained is what programs read.
type explained struct {
	explain.Finding
	Unseen []string `json:"unseen,omitempty"`
}

func (e *explainer) show(out, messages io.Writer, told explain.Finding, unseen []string) error {
	if e.output != "" {
		return printing.Object(out, e.output, explained{told, unseen})
	}
	for _, text := range unseen {
		fmt.Fprintln(messages, "warning: "+printing.Visible(text))
	}
	tree := &tree{out: out, painter: printing.PainterFor(out), now: e.now()}
	tree.print(told, "", "")
	return tree.err
}

// tree prints findings with lines that lead from a finding to its causes.
type tree struct {
	out     io.Writer
	painter printing.Painter
	now     time.Time
	err     error
}

func (t *tree) line(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.out, strings.TrimRight(text, " ")+"\n")
	}
}

// print shows a finding behind branch, and what belongs to it behind below.
func (t *tree) print(f explain.Finding, branch, below string) {
	tone := printing.Bad
	if f.Healthy {
		tone = printing.Good
	}
	head := t.painter.Paint(printing.Title, printing.Visible(strings.TrimSpace(f.Object+" "+f.Condition))) + ": "
	says := printing.Shorten(printing.Visible(f.Says))
	if f.Reason != "" && !strings.Contains(says, f.Reason) {
		says += " (" + printing.Visible(f.Reason) + ")"
	}
	if f.Since != nil && !f.Since.IsZero() {
		says += ", since " + printing.Age(*f.Since, t.now)
	}
	t.line(branch + head + t.painter.Paint(tone, says))
	inner := below + "   "
	if len(f.Because) > 0 {
		inner = below + "│  "
	}
	for _, evidence := range f.Evidence {
		t.line(inner + "evidence: " + printing.Visible(evidence.Source) + ": " + printing.Shorten(printing.Visible(evidence.Says)))
	}
	if f.Cause != "" {
		t.line(inner + "cause:    " + f.Cause + " [" + f.Case + "]")
	}
	for _, next := range f.Next {
		t.line(inner + t.painter.Paint(printing.Title, "next:") + "     " + printing.Visible(next))
	}
	for i, cause := range f.Because {
		if i == len(f.Because)-1 {
			t.print(cause, below+"└─ ", below+"   ")
			continue
		}
		t.print(cause, below+"├─ ", below+"│  ")
	}
}
