// Package backup has the commands that save the etcd of hosted clusters, list what was saved, and prepare a hosted cluster that begins
// with it.
package backup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// NewCommand is backup.
func NewCommand() *cobra.Command {
	return command.Parent("backup", "Save the etcd of hosted clusters, and begin others with it", newCreateCommand(), newListCommand(), newScheduleCommand(), newRestoreCommand())
}

// target is the hosted cluster whose etcd it is about.
type target struct {
	namespace, name, kubeconfig string
	client                      client.Client
	now                         func() time.Time
}

// verb makes a command for a hosted cluster; run is called with the client in place.
func (t *target) verb(cmd *cobra.Command, run func(*cobra.Command) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = command.OneName, management.CompleteClusters
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := management.NewClient(t.kubeconfig)
		if err != nil {
			return err
		}
		t.name, t.client, t.now = args[0], c, time.Now
		return run(cmd)
	}
	cmd.Flags().StringVarP(&t.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	management.AddKubeconfig(cmd, &t.kubeconfig)
	return cmd
}

// read finds the hosted cluster, and sees that the namespace of its control plane is its own.
func (t *target) read(ctx context.Context) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := t.client.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: t.name}, hc)
	switch {
	case apierrors.IsNotFound(err):
		return nil, management.NoCluster(ctx, t.client, t.namespace, t.name)
	case err != nil:
		return nil, management.Unread("HostedCluster", t.namespace, t.name, err)
	}
	switch own, err := tenancy.Read(ctx, t.client, nil, tenancy.Of(hc)); {
	case err != nil:
		return nil, fmt.Errorf("no way to etcd of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	case own == nil:
		return nil, fmt.Errorf("HostedCluster %s/%s has no control plane yet, and so no etcd", hc.Namespace, hc.Name)
	}
	return hc, nil
}

// controlPlane is the namespace of the control plane.
func (t *target) controlPlane() string { return contract.ControlPlaneNamespace(t.namespace, t.name) }

// backups of the hosted cluster, the newest first.
func (t *target) backups(ctx context.Context) ([]hyperv1.HCPEtcdBackup, error) {
	list := &hyperv1.HCPEtcdBackupList{}
	if err := t.client.List(ctx, list, client.InNamespace(t.controlPlane())); err != nil {
		return nil, notServed(fmt.Errorf("list the backups of HostedCluster %s/%s: %w", t.namespace, t.name, err))
	}
	slices.SortFunc(list.Items, func(a, b hyperv1.HCPEtcdBackup) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(b.Name, a.Name))
	})
	return list.Items, nil
}

// notServed says what to do where the management cluster has no backups at all.
func notServed(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the management cluster does not know HCPEtcdBackup, which is a technology preview; install it with: hypershift install --tech-preview-no-upgrade, and the flags of the installation: %w", err)
	}
	return err
}

// stateOf is the condition of a backup, in two words and its message.
func stateOf(b *hyperv1.HCPEtcdBackup) (reason, message string) {
	done := meta.FindStatusCondition(b.Status.Conditions, hyperv1.BackupCompleted)
	if done == nil {
		return "Waiting", "no control plane operator has looked at it yet"
	}
	return done.Reason, done.Message
}

func succeeded(b *hyperv1.HCPEtcdBackup) bool {
	return meta.IsStatusConditionPresentAndEqual(b.Status.Conditions, hyperv1.BackupCompleted, metav1.ConditionTrue)
}
