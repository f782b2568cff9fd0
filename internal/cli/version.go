package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// supportedVersions is the ConfigMap in which the operator says what it supports.
const supportedVersions = "supported-versions"

type versionFlags struct {
	commitOnly, clientOnly bool
	namespace              string
}

func newVersionCommand() *cobra.Command {
	f := &versionFlags{}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of this program and of the installed operator",
		Example: "  hypershift version\n  hypershift version --client-only",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if f.commitOnly {
				fmt.Fprintln(out, version.Get().Commit)
				return nil
			}
			info := version.Get()
			fmt.Fprintf(out, "Client Version: %s (commit %s, %s, %s)\n", info.Version, info.Commit, info.GoVersion, info.Platform)
			if f.clientOnly {
				return nil
			}
			f.printServer(cmd.Context(), out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.commitOnly, "commit-only", false, "print only the commit of this program")
	cmd.Flags().BoolVar(&f.clientOnly, "client-only", false, "do not ask the management cluster")
	cmd.Flags().StringVar(&f.namespace, "namespace", "hypershift", "namespace of the operator")
	return cmd
}

// printServer prints a problem as the server's version: this command answers also where no cluster is at hand.
func (f *versionFlags) printServer(ctx context.Context, out io.Writer) {
	revision, supported, err := f.server(ctx)
	if err != nil {
		fmt.Fprintf(out, "Server Version: unknown (%s)\n", oneLine(err))
		return
	}
	fmt.Fprintf(out, "Server Version: %s\nServer Supports OCP Versions: %s\n", revision, strings.Join(supported, ", "))
}

func (f *versionFlags) server(ctx context.Context) (revision string, supported []string, err error) {
	c, err := newKubeClient("")
	if err != nil {
		return "", nil, err
	}
	cm := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: supportedVersions}, cm); err != nil {
		return "", nil, fmt.Errorf("cannot read ConfigMap %s/%s: %w", f.namespace, supportedVersions, err)
	}
	var list struct {
		Versions []string `json:"versions"`
	}
	if err := json.Unmarshal([]byte(cm.Data[supportedVersions]), &list); err != nil {
		return "", nil, fmt.Errorf("ConfigMap %s/%s is malformed: %w", f.namespace, supportedVersions, err)
	}
	return cm.Data["server-version"], list.Versions, nil
}
