package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

type versionFlags struct {
	commitOnly, clientOnly bool
	namespace, output      string
}

func newVersionCommand() *cobra.Command {
	f := &versionFlags{}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of this program and of the installed operator",
		Example: "  hypershift version\n  hypershift version --client-only -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if err := printing.CheckFormat(f.output); err != nil {
				return err
			}
			if f.output != "" {
				return printing.Object(out, f.output, f.report(cmd.Context()))
			}
			if f.commitOnly {
				fmt.Fprintln(out, buildinfo.Get().Commit)
				return nil
			}
			fmt.Fprintln(out, version.Client(buildinfo.Get().Commit))
			if f.clientOnly {
				return nil
			}
			f.printServer(cmd.Context(), out)
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.commitOnly, "commit-only", false, "print only the commit of this program")
	cmd.Flags().BoolVar(&f.clientOnly, "client-only", false, "do not ask the management cluster")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "print the versions as json or yaml")
	cmd.MarkFlagsMutuallyExclusive("output", "commit-only")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", management.OperatorNamespace, "namespace of the operator")
	return cmd
}

// versionReport are the versions for a program.
type versionReport struct {
	Client clientReport  `json:"client"`
	Server *serverReport `json:"server,omitempty"`
}

type clientReport struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"goVersion"`
	Platform string `json:"platform"`
}

type serverReport struct {
	Commit        string   `json:"commit,omitempty"`
	SupportedOCPs []string `json:"supportedOCPVersions,omitempty"`
	PayloadKinds  []string `json:"payloadKinds,omitempty"`
	Error         string   `json:"error,omitempty"`
}

func (f *versionFlags) report(ctx context.Context) versionReport {
	info := buildinfo.Get()
	out := versionReport{Client: clientReport{info.Version, info.Commit, info.GoVersion, info.Platform}}
	if f.clientOnly {
		return out
	}
	server, err := f.server(ctx)
	if err != nil {
		server.Error = printing.OneLine(err)
	}
	out.Server = &server
	return out
}

// printServer prints a problem as the server's version: this command answers also where no cluster is at hand.
func (f *versionFlags) printServer(ctx context.Context, out io.Writer) {
	server, err := f.server(ctx)
	if err != nil {
		fmt.Fprintf(out, "Server Version: unknown (%s)\n", printing.OneLine(err))
		return
	}
	fmt.Fprintf(out, "Server Version: %s\nServer Supports OCP Versions: %s\n", server.Commit, strings.Join(server.SupportedOCPs, ", "))
	if len(server.PayloadKinds) > 0 {
		fmt.Fprintf(out, "Server Runs Payloads of Kind: %s\n", strings.Join(server.PayloadKinds, ", "))
	}
}

func (f *versionFlags) server(ctx context.Context) (serverReport, error) {
	c, err := management.NewClient("")
	if err != nil {
		return serverReport{}, err
	}
	cm := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: contract.SupportedVersions}, cm); err != nil {
		return serverReport{}, fmt.Errorf("cannot read ConfigMap %s/%s: %w", f.namespace, contract.SupportedVersions, err)
	}
	return serverOf(cm)
}

// serverOf is what the operator says of itself.
func serverOf(cm *corev1.ConfigMap) (serverReport, error) {
	minors, err := management.ParseMinors(cm)
	if err != nil {
		return serverReport{}, err
	}
	kinds, err := management.ParseKinds(cm)
	return serverReport{Commit: cm.Data[contract.ServerVersionKey], SupportedOCPs: minors, PayloadKinds: kinds}, err
}
