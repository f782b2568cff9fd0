// Package destroy is destroy cluster: the hosted cluster, what its record says was made for it, and what holds either up.
package destroy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/inventory"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// defaultGrace is how long the management cluster may take; a private cluster's endpoints go slower.
const defaultGrace, privateGrace = 10 * time.Minute, 20 * time.Minute

// InfraDestroyer removes the infrastructure of a hosted cluster; tests replace it.
type InfraDestroyer func(context.Context, *azure.Session, infra.DestroyOptions, func(stack.Event)) error

type options struct {
	azureflags.Flags
	infra.DestroyOptions
	handoff               azureflags.HandoffFile
	inventory             *handoff.File // of the Secret beside the HostedCluster, nil when there is none
	destroyInfra          InfraDestroyer
	client                client.Client // nil: connect
	namespace, kubeconfig string
	gracePeriod           time.Duration
	cleanupCloud, force   bool
	yes                   bool
}

// NewCommand is destroy cluster.
func NewCommand() *cobra.Command {
	return command.Parent("cluster", "Destroy a hosted cluster",
		NewAzureCommand(infra.Destroy, nil))
}

// NewAzureCommand is destroy cluster azure. Without a client of the management cluster it connects.
func NewAzureCommand(destroyInfra InfraDestroyer, c client.Client) *cobra.Command {
	o := &options{destroyInfra: destroyInfra, client: c}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete the hosted cluster, its node pools and everything of it in Azure; identities and issuer stay",
		Example: `  hypershift destroy cluster azure --name demo --azure-creds azure-credentials.json
  hypershift destroy cluster azure --name demo --azure-creds azure-credentials.json --resource-group-name demo-managed-rg
  hypershift destroy cluster azure --from demo.yaml --azure-creds azure-credentials.json --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	_ = cmd.RegisterFlagCompletionFunc("name", management.CompleteClusters)
	f.StringVarP(&o.namespace, "namespace", "n", "clusters", "namespace of the hosted cluster")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	f.StringVar(&o.InfraID, "infra-id", "", "infrastructure id; read from the HostedCluster when it still exists")
	f.StringVar(&o.ResourceGroup, "resource-group-name", "", "main resource group; <name>-<infra-id> when empty")
	f.BoolVar(&o.PreserveResourceGroup, "preserve-resource-group", false, "keep the main group and delete only the cluster's resources in it")
	f.StringVar(&o.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone, where the ingress identity has a role")
	infraflags.AddDestroy(f, &o.DestroyOptions)
	f.DurationVar(&o.gracePeriod, "cluster-grace-period", defaultGrace, "how long the management cluster may take to delete the hosted cluster")
	f.BoolVar(&o.cleanupCloud, "destroy-cloud-resources", true, "have the hosted cluster remove what it made in Azure, load balancers and disks of its volumes, before its control plane goes; for ten minutes at most")
	f.BoolVar(&o.force, "force", false, "do not wait longer than the grace period: take the finalizers off and remove the infrastructure all the same; for development")
	f.BoolVar(&o.yes, "yes", false, "do not ask: delete the main resource group that the HostedCluster or its record names also where it has not the name of one that is made for a cluster")
	o.AddPlan(cmd)
	o.handoff.AddRead(cmd)
	return cmd
}

// run deletes in an order that can be repeated after a stop at any point: the finalizer of this command keeps the HostedCluster,
// and with it the names, until the last resource is gone.
func (o *options) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	if err := o.handoff.MustOpen(); err != nil {
		return err
	}
	o.handoff.Complete(cmd, &o.Flags, &o.Name, nil)
	if o.Name == "" {
		return errors.New("--name is required, or a --from file that has it")
	}
	c, err := o.connect()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: o.namespace, Name: o.Name}
	hc, err := getHostedCluster(ctx, c, key)
	if err != nil {
		return err
	}
	say := progress.Line(cmd)
	o.inventory, err = inventory.Read(ctx, c, client.ObjectKey{Namespace: o.namespace, Name: inventory.Name(o.Name)})
	if err != nil {
		if !errors.Is(err, inventory.ErrDamaged) {
			return err // it may say what is the user's
		}
		say("warning: %v; the resources are found by their tags and names", err)
	}
	if hc == nil && o.inventory != nil {
		(&azureflags.HandoffFile{File: o.inventory}).Complete(cmd, &o.Flags, nil, nil)
	}
	typedGroup := o.ResourceGroup
	if err := o.learn(hc); err != nil {
		return err
	}
	if err := o.refuseShared(ctx, c, key, say); err != nil {
		return err
	}
	o.GroupUnproven = !o.isUsersWord(typedGroup)
	o.Confirm = o.confirm(cmd)
	o.Show, o.Warn = infraflags.ShowAdopted(cmd), func(sentence string) { say("warning: %s", sentence) }
	return azureflags.WithPlan(cmd, &o.Flags,
		func(ctx context.Context, s *azure.Session) ([]stack.Step, error) { return o.plan(ctx, s, hc) },
		func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
			return o.destroy(ctx, cmd, s, c, hc, say)
		}, nil)
}

func (o *options) plan(ctx context.Context, s *azure.Session, hc *hyperv1.HostedCluster) ([]stack.Step, error) {
	if err := o.handoff.IsOf(s, &o.Flags, o.Name, o.InfraID); err != nil {
		return nil, err
	}
	var steps []stack.Step
	if hc != nil {
		steps = append(steps, stack.Step{Kind: "HostedCluster", Name: hc.Namespace + "/" + hc.Name, Action: "delete"})
	}
	infra, err := infra.PlanDestroy(ctx, s, o.DestroyOptions)
	return append(steps, infra...), err
}

func (o *options) destroy(ctx context.Context, cmd *cobra.Command, s *azure.Session, c client.Client, hc *hyperv1.HostedCluster, say func(string, ...any)) ([]stack.Step, error) {
	var removed azureflags.Removals
	key := client.ObjectKey{Namespace: o.namespace, Name: o.Name}
	if err := o.handoff.Begin(s, &o.Flags, o.Name, o.InfraID); err != nil {
		return nil, err
	}
	if hc != nil {
		say("deleting HostedCluster %s", key)
		if err := o.deleteHostedCluster(ctx, c, key, say); err != nil {
			return nil, o.handoff.Save(err)
		}
	} else {
		say("HostedCluster %s is gone already; removing its infrastructure", key)
	}
	infraErr := o.destroyInfra(ctx, s, o.DestroyOptions, removed.Note(o.handoff.KeepTrue(infra.Stack, progress.OfStack(cmd))))
	keep := ""
	if infraErr == nil {
		o.handoff.InfraGone()
	} else {
		keep = inventory.Name(o.Name) // by which the next run finds what is left
		infraErr = fmt.Errorf("the infrastructure %s is not gone; run the command again: %w", o.InfraID, infraErr)
	}
	if infraErr = o.handoff.Save(infraErr); infraErr != nil {
		if !o.force {
			return nil, infraErr
		}
		say("warning: --force lets go of the HostedCluster all the same")
	}
	if err := deleteClusterSecrets(ctx, c, key, o.InfraID, keep); err != nil {
		return nil, errors.Join(infraErr, err)
	}
	if err := dropDestroyFinalizer(ctx, c, key); err != nil {
		if !o.force {
			return nil, err
		}
		say("warning: %v", err)
	}
	if infraErr != nil {
		return nil, infraErr
	}
	say("hosted cluster %s destroyed; identities and issuer are kept", o.Name)
	return removed.Steps(), nil
}

func (o *options) connect() (client.Client, error) {
	if o.client != nil {
		return o.client, nil
	}
	return management.NewClient(o.kubeconfig)
}

func getHostedCluster(ctx context.Context, c client.Client, key client.ObjectKey) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := c.Get(ctx, key, hc)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	case hc.Spec.Platform.Azure == nil:
		return nil, fmt.Errorf("HostedCluster %s is not an Azure platform cluster (spec.platform.azure is missing)", key)
	}
	return hc, nil
}

// learn takes names from the HostedCluster; when it is gone, from the inventory beside it, from the hand-off file and from the flags.
func (o *options) learn(hc *hyperv1.HostedCluster) error {
	if hc != nil {
		if err := o.learnFromCluster(hc); err != nil {
			return err
		}
	}
	// Of another infrastructure of the same name nothing may be learned.
	sameInfra := func(h *handoff.File) bool {
		return h != nil && (o.InfraID == "" || strings.EqualFold(o.InfraID, h.InfraID))
	}
	// The user's own file goes before the record, which a tenant can write.
	if sameInfra(o.handoff.File) {
		o.handoff.Demolish(&o.DestroyOptions)
	}
	if sameInfra(o.inventory) {
		o.inventory.Hint(&o.DestroyOptions)
	}
	if o.InfraID == "" {
		return fmt.Errorf("there is no HostedCluster %s in namespace %s, and no record of one; check --name and --namespace with `kubectl get hostedclusters -A`. "+
			"To destroy what a HostedCluster has left that is gone, required inputs are missing: give --infra-id ID, or --from with its hand-off file", o.Name, o.namespace)
	}
	return nil
}

func (o *options) learnFromCluster(hc *hyperv1.HostedCluster) error {
	platform := hc.Spec.Platform.Azure
	o.InfraID, o.VNetID, o.NSGID, o.PrivateZoneID = hc.Spec.InfraID, platform.VnetID, platform.SecurityGroupID, hc.Spec.DNS.PrivateZoneID
	if o.InfraID == "" {
		return fmt.Errorf("required inputs are missing: HostedCluster %s/%s has no spec.infraID, by which its resources are found", hc.Namespace, hc.Name)
	}
	o.ResourceGroup = cmp.Or(o.ResourceGroup, platform.ResourceGroupName)
	if !strings.EqualFold(o.ResourceGroup, platform.ResourceGroupName) {
		return fmt.Errorf("--resource-group-name %s is not the group of HostedCluster %s/%s, which lives in %s; leave the flag out", o.ResourceGroup, hc.Namespace, hc.Name, platform.ResourceGroupName)
	}
	if platform.Cloud != "" {
		o.Cloud = platform.Cloud
	}
	o.Location = platform.Location
	if zone, err := azure.ParseID(hc.Spec.DNS.PublicZoneID); err == nil {
		o.PublicZoneID = hc.Spec.DNS.PublicZoneID
		o.DNSZoneGroup = cmp.Or(o.DNSZoneGroup, zone.ResourceGroup)
	}
	if platform.Topology != "" && platform.Topology != hyperv1.AzureTopologyPublic && o.gracePeriod == defaultGrace {
		o.gracePeriod = privateGrace
	}
	return nil
}

func (o *options) deleteHostedCluster(ctx context.Context, c client.Client, key client.ObjectKey, say func(string, ...any)) error {
	hc, err := getHostedCluster(ctx, c, key)
	if err != nil || hc == nil {
		return err
	}
	if hc.DeletionTimestamp.IsZero() {
		before := hc.DeepCopy()
		controllerutil.AddFinalizer(hc, hyperv1.DestroyFinalizer)
		if o.cleanupCloud {
			if hc.Annotations == nil {
				hc.Annotations = map[string]string{}
			}
			hc.Annotations[hyperv1.CleanupCloudResourcesAnnotation] = "true"
		}
		if err := c.Patch(ctx, hc, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("cannot mark HostedCluster %s for destruction: %w", key, err)
		}
		if err := c.Delete(ctx, hc); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot delete HostedCluster %s: %w", key, err)
		}
	}
	return o.waitForOperator(ctx, c, key, say)
}

func dropDestroyFinalizer(ctx context.Context, c client.Client, key client.ObjectKey) error {
	hc, err := getHostedCluster(ctx, c, key)
	if err != nil || hc == nil {
		return err
	}
	before := hc.DeepCopy()
	controllerutil.RemoveFinalizer(hc, hyperv1.DestroyFinalizer)
	err = c.Patch(ctx, hc, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot remove the finalizer of HostedCluster %s: %w", key, err)
	}
	return nil
}
