// Package export writes the cluster file of a hosted cluster that is there.
package export

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// NewCommand is export cluster. known are the flags whose names are the members of the cluster file.
func NewCommand(known func() *pflag.FlagSet) *cobra.Command {
	var kubeconfig, namespace, file string
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Write the cluster file of a hosted cluster that is there",
		Long: `Writes the file that create cluster azure --file reads, from the HostedCluster and the node pools that were made with it. What is as by default is
left out, and so is what our own stack has made in Azure. Secrets stay where they are: members that name files are there as comments.`,
		Example: `  hypershift export cluster demo > demo-cluster.yaml
  hypershift export cluster demo --namespace clusters --output-file demo-cluster.yaml`,
		Args:              command.OneName,
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flagfile.CheckWritable("--output-file", file); err != nil {
				return err
			}
			c, err := management.NewClient(kubeconfig)
			if err != nil {
				return err
			}
			text, err := Text(cmd.Context(), c, client.ObjectKey{Namespace: namespace, Name: args[0]}, known())
			if err != nil {
				return err
			}
			if file != "" {
				return wholefile.Replace(file, text, 0o600)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	cmd.Flags().StringVar(&file, "output-file", "", "file to write, mode 0600, instead of stdout")
	management.AddKubeconfig(cmd, &kubeconfig)
	return cmd
}

// Text is the text of the file.
func Text(ctx context.Context, c client.Client, key client.ObjectKey, known *pflag.FlagSet) ([]byte, error) {
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, key, hc); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, management.NoCluster(ctx, c, key.Namespace, key.Name)
		}
		return nil, fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	}
	if hc.Spec.Platform.Azure == nil {
		return nil, fmt.Errorf("HostedCluster %s is of platform %s, and the cluster file is for Azure", key, hc.Spec.Platform.Type)
	}
	pools := &hyperv1.NodePoolList{}
	if err := c.List(ctx, pools, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot read the node pools of HostedCluster %s: %w", key, err)
	}
	e := &exported{flags: known, spec: map[string]any{}}
	e.cluster(hc)
	e.network(hc)
	e.platform(hc)
	e.pools(hc, pools.Items)
	e.files(hc)
	return e.text()
}

// exported collects the members of the file, and what no member says.
type exported struct {
	flags *pflag.FlagSet
	spec  map[string]any
	notes []string
}

// set keeps a value that is neither empty nor what the flag is by default.
func (e *exported) set(flag string, value any) {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.String:
		value = v.String()
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return
		}
	case reflect.Int32:
		value = v.Int()
	}
	text := fmt.Sprint(value)
	if list, ok := value.([]string); ok {
		text = "[" + strings.Join(list, ",") + "]"
	}
	if text != "" && text != "false" && text != e.flags.Lookup(flag).DefValue {
		e.spec[flag] = value
	}
}

func (e *exported) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *exported) text() ([]byte, error) {
	raw, err := yaml.Marshal(clusterfile.File{APIVersion: clusterfile.APIVersion, Kind: clusterfile.Kind, Spec: e.spec})
	var b strings.Builder
	writeNotes(&b, e.notes)
	b.Write(raw)
	return []byte(b.String()), err
}

func writeNotes(w io.StringWriter, notes []string) {
	_, _ = w.WriteString("# Not here, for they are files, or no flag says them:\n")
	for _, n := range notes {
		_, _ = w.WriteString("#   " + n + "\n")
	}
}
