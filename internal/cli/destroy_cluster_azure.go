package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// defaultGrace is how long the management cluster may take; a private cluster's endpoints go slower.
const defaultGrace, privateGrace = 10 * time.Minute, 20 * time.Minute

// infraDestroyer removes the infrastructure of a hosted cluster; tests replace it.
type infraDestroyer func(context.Context, *azure.Session, provision.DestroyOptions, func(stack.Event)) error

type destroyClusterOptions struct {
	azureFlags
	provision.DestroyOptions
	destroyInfra          infraDestroyer
	client                client.Client // nil: connect
	namespace, kubeconfig string
	gracePeriod           time.Duration
	cleanupCloud          bool
}

func newDestroyClusterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Destroy a hosted cluster", RunE: needSubcommand}
	cmd.AddCommand(newDestroyClusterAzureCommand(&destroyClusterOptions{destroyInfra: provision.DestroyInfra}))
	return cmd
}

func newDestroyClusterAzureCommand(o *destroyClusterOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Delete the hosted cluster, its node pools and everything of it in Azure; identities and issuer stay",
		Example: `  hypershift destroy cluster azure --name demo --azure-creds azure-credentials.json
  hypershift destroy cluster azure --name demo --azure-creds azure-credentials.json --resource-group-name demo-managed-rg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the hosted cluster")
	f.StringVar(&o.namespace, "namespace", "clusters", "namespace of the hosted cluster")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	f.StringVar(&o.InfraID, "infra-id", "", "infrastructure id; read from the HostedCluster when it still exists")
	f.StringVar(&o.ResourceGroup, "resource-group-name", "", "main resource group; <name>-<infra-id> when empty")
	f.BoolVar(&o.PreserveResourceGroup, "preserve-resource-group", false, "keep the main group and delete only the cluster's resources in it")
	f.StringVar(&o.DNSZoneGroup, "dns-zone-rg-name", "", "resource group of the public DNS zone, where the ingress identity has a role")
	addDestroyFlags(f, &o.DestroyOptions)
	f.DurationVar(&o.gracePeriod, "cluster-grace-period", defaultGrace, "how long the management cluster may take to delete the hosted cluster")
	f.BoolVar(&o.cleanupCloud, "destroy-cloud-resources", true, "remove what the hosted cluster created in Azure for its own Services and volumes")
	_ = cmd.MarkFlagRequired("name")
	return cmd
}

// run deletes in an order that can be repeated after a stop at any point: the finalizer of this command keeps the HostedCluster,
// and with it the names, until the last resource is gone.
func (o *destroyClusterOptions) run(cmd *cobra.Command) error {
	ctx, say := cmd.Context(), progressLine(cmd)
	c, err := o.connect()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: o.namespace, Name: o.Name}
	hc, err := getHostedCluster(ctx, c, key)
	if err != nil {
		return err
	}
	if err := o.learn(hc); err != nil {
		return err
	}
	session, err := o.session()
	if err != nil {
		return err
	}
	if hc != nil {
		say("deleting HostedCluster %s", key)
		if err := o.deleteHostedCluster(ctx, c, key, say); err != nil {
			return err
		}
	} else {
		say("HostedCluster %s is gone already; removing its infrastructure", key)
	}
	o.Show = showAdopted(cmd)
	if err := o.destroyInfra(ctx, session, o.DestroyOptions, stackProgress(cmd)); err != nil {
		return err
	}
	if err := deleteClusterSecrets(ctx, c, o.namespace, o.InfraID); err != nil {
		return err
	}
	if err := dropDestroyFinalizer(ctx, c, key); err != nil {
		return err
	}
	say("hosted cluster %s destroyed; identities and issuer are kept", o.Name)
	return nil
}

func (o *destroyClusterOptions) connect() (client.Client, error) {
	if o.client != nil {
		return o.client, nil
	}
	return newKubeClient(o.kubeconfig)
}

// progressLine prints a sentence with the elapsed time.
func progressLine(cmd *cobra.Command) func(format string, args ...any) {
	begin := time.Now()
	return func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
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

// learn takes names from the HostedCluster; the flags serve when it is gone.
func (o *destroyClusterOptions) learn(hc *hyperv1.HostedCluster) error {
	if hc == nil {
		if o.InfraID == "" {
			return errors.New("required inputs are missing: the HostedCluster is gone and --infra-id is not given; both name the resources to destroy, so one is needed")
		}
		return nil
	}
	platform := hc.Spec.Platform.Azure
	o.InfraID, o.VNetID, o.NSGID = hc.Spec.InfraID, platform.VnetID, platform.SecurityGroupID
	if o.InfraID == "" {
		return fmt.Errorf("required inputs are missing: HostedCluster %s/%s has no spec.infraID, by which its resources are found", hc.Namespace, hc.Name)
	}
	if o.ResourceGroup == "" {
		o.ResourceGroup = platform.ResourceGroupName
	}
	if !strings.EqualFold(o.ResourceGroup, platform.ResourceGroupName) {
		return fmt.Errorf("--resource-group-name %s is not the group of HostedCluster %s/%s, which lives in %s; leave the flag out", o.ResourceGroup, hc.Namespace, hc.Name, platform.ResourceGroupName)
	}
	if platform.Cloud != "" {
		o.cloud = platform.Cloud
	}
	if zone, err := azure.ParseID(hc.Spec.DNS.PublicZoneID); err == nil && o.DNSZoneGroup == "" {
		o.DNSZoneGroup = zone.ResourceGroup
	}
	if platform.Topology != "" && platform.Topology != hyperv1.AzureTopologyPublic && o.gracePeriod == defaultGrace {
		o.gracePeriod = privateGrace
	}
	return nil
}

func (o *destroyClusterOptions) deleteHostedCluster(ctx context.Context, c client.Client, key client.ObjectKey, say func(string, ...any)) error {
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

// waitForOperator waits until only this command's finalizer is left, and says what the operator waits for.
func (o *destroyClusterOptions) waitForOperator(ctx context.Context, c client.Client, key client.ObjectKey, say func(string, ...any)) error {
	last := ""
	err := wait.PollUntilContextTimeout(ctx, time.Second, o.gracePeriod, true, func(ctx context.Context) (bool, error) {
		hc, err := getHostedCluster(ctx, c, key)
		if isTransient(err) {
			return false, nil
		}
		if err != nil || hc == nil {
			return err == nil, err
		}
		others := slices.DeleteFunc(slices.Clone(hc.Finalizers), func(f string) bool { return f == hyperv1.DestroyFinalizer })
		if now := deletionMessage(hc); now != last && now != "" {
			say("%s", now)
			last = now
		}
		return len(others) == 0, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("HostedCluster %s wasn't finalized within %s (%s); see `kubectl -n %s describe hostedcluster %s`, then run the command again",
			key, o.gracePeriod, last, key.Namespace, key.Name)
	}
	return err
}

func deletionMessage(hc *hyperv1.HostedCluster) string {
	for _, c := range hc.Status.Conditions {
		if strings.Contains(c.Type, "Deletion") || strings.Contains(c.Type, "Destroyed") {
			return c.Message
		}
	}
	return ""
}

// deleteClusterSecrets removes the Secrets that create cluster made for this infrastructure.
func deleteClusterSecrets(ctx context.Context, c client.Client, namespace, infraID string) error {
	err := c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace), client.MatchingLabels{hyperv1.AutoInfraLabel: infraID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete the cluster's Secrets in %s: %w", namespace, err)
	}
	return nil
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
