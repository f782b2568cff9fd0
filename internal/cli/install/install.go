// Package install has the commands that install the operator on a management cluster, render what is installed, and remove it.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	_ "github.com/hypershift-on-azure/hypershift/internal/cli/fieldflags" // the flags of the fields that errors name
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// installWait bounds the waits of an installation.
const installWait = 5 * time.Minute

// NewCommand is install, with the commands that only render.
func NewCommand() *cobra.Command {
	var flags installFlags
	var i installer
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install or upgrade the operator on the management cluster",
		Example: `  hypershift install --pull-secret pull-secret.json --limit-crd-install Azure --wait-until-available
  hypershift install --external-dns-provider=azure --external-dns-credentials azure_mgmt.json \
    --external-dns-domain-filter clusters.example.com --pull-secret pull-secret.json --limit-crd-install Azure
  hypershift install --ingress-domain apps.example.com --limit-crd-install Azure   # a cluster without Routes
  hypershift install --image-registry registry.example.com/hypershift --pull-secret pull-secret.json --limit-crd-install Azure`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(i.validate(), flags.complete()); err != nil {
				return err
			}
			i.opts, i.patience, i.out, i.say = &flags.Options, installWait, cmd.OutOrStdout(), progress.Line(cmd)
			i.describe, i.registry, i.recorded, i.given = describeImage(i.opts), flags.registry, flags.recorded(), cmd.Flags().Changed
			if err := i.run(cmd.Context()); err != nil {
				return err
			}
			return flags.recordRegistry()
		},
	}
	flags.add(cmd.PersistentFlags())
	cmd.Flags().StringVar(&i.scope, "install-scope", "all", "all, crds or resources")
	cmd.Flags().BoolVar(&i.waitAvailable, "wait-until-available", false, "wait until the definitions are established and the operator runs")
	cmd.Flags().BoolVar(&i.waitEstablished, "wait-until-crds-established", false, "wait until the definitions are established")
	cmd.Flags().BoolVar(&i.removeExternalDNS, "remove-external-dns", false, "remove ExternalDNS of an earlier installation, with its credentials; without this it stays")
	cmd.AddCommand(newInstallRenderCommand(&flags), newInstallHelmCommand(&flags))
	return cmd
}

// installer applies an installation; it can be run again and again.
type installer struct {
	opts                           *install.Options
	scope                          string
	waitAvailable, waitEstablished bool
	removeExternalDNS              bool
	given                          func(flag string) bool // nil: none

	client   client.Client
	describe describe
	registry string            // where `images publish` pushed the images; empty when they are others
	recorded map[string]string // images by digest as it pushed them, by the names that they are given
	patience time.Duration
	out      io.Writer
	say      func(format string, args ...any)
}

func (i *installer) validate() error {
	switch {
	case i.scope != "all" && i.scope != "crds" && i.scope != "resources":
		return fmt.Errorf("--install-scope %q is unknown; use all, crds or resources%s", i.scope, printing.Suggest(i.scope, []string{"all", "crds", "resources"}))
	case i.scope == "crds" && i.waitAvailable:
		return errors.New("--wait-until-available needs the operator, which --install-scope crds leaves out; use --wait-until-crds-established")
	}
	return nil
}

// run looks first and writes afterwards: what is wrong with the flags or the cluster is said before anything is changed.
func (i *installer) run(ctx context.Context) error {
	if i.client == nil {
		c, err := newInstallClient()
		if err != nil {
			return err
		}
		i.client = c
	}
	if err := i.requireAdmin(ctx); err != nil {
		return err
	}
	if err := i.keepFormer(ctx); err != nil {
		return err
	}
	if err := i.completeFromCluster(ctx); err != nil {
		return err
	}
	if i.scope != "crds" {
		if err := i.refuseForeign(ctx); err != nil {
			return err
		}
	}
	if i.scope != "resources" {
		if err := i.applyCRDs(ctx); err != nil {
			return err
		}
	}
	if i.scope == "crds" {
		return nil
	}
	if err := errors.Join(i.applyObjects(ctx), i.dropFiles(ctx), i.dropExternalDNS(ctx)); err != nil {
		return err
	}
	if !i.waitAvailable || i.opts.Development {
		return nil
	}
	return i.waitForOperator(ctx)
}
