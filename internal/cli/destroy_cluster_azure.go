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
	"github.com/hypershift-on-azure/hypershift/internal/provision"
)

type destroyClusterOptions struct {
	azureFlags
	provision.DestroyOptions
	namespace, kubeconfig string
	gracePeriod           time.Duration
	cleanupCloud          bool
}

func newDestroyClusterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cluster", Short: "Destroy a hosted cluster"}
	cmd.AddCommand(newDestroyClusterAzureCommand())
	return cmd
}

func newDestroyClusterAzureCommand() *cobra.Command {
	o := &destroyClusterOptions{}
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
	f.DurationVar(&o.gracePeriod, "cluster-grace-period", 10*time.Minute, "how long the management cluster may take to delete the hosted cluster")
	f.BoolVar(&o.cleanupCloud, "destroy-cloud-resources", true, "remove what the hosted cluster created in Azure for its own Services and volumes")
	_ = cmd.MarkFlagRequired("name")
	return cmd
}

// run deletes in an order that can be repeated after a stop at any point: the finalizer of this command keeps the HostedCluster,
// and with it the names, until the last resource is gone.
func (o *destroyClusterOptions) run(cmd *cobra.Command) error {
	ctx, say := cmd.Context(), progressLine(cmd)
	session, err := o.session()
	if err != nil {
		return err
	}
	c, err := newKubeClient(o.kubeconfig)
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
	if hc != nil {
		say("deleting HostedCluster %s", key)
		if err := o.deleteHostedCluster(ctx, c, key, say); err != nil {
			return err
		}
	} else {
		say("HostedCluster %s is gone already; removing its infrastructure", key)
	}
	if err := provision.DestroyInfra(ctx, session, o.DestroyOptions, stackProgress(cmd)); err != nil {
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
		return nil, fmt.Errorf("HostedCluster %s is not on Azure (spec.platform.azure is missing)", key)
	}
	return hc, nil
}

// learn takes names from the HostedCluster; the flags serve when it is gone.
func (o *destroyClusterOptions) learn(hc *hyperv1.HostedCluster) error {
	if hc != nil {
		platform := hc.Spec.Platform.Azure
		o.InfraID = hc.Spec.InfraID
		o.VNetID, o.NSGID = platform.VnetID, platform.SecurityGroupID
		if o.ResourceGroup == "" {
			o.ResourceGroup = platform.ResourceGroupName
		}
	}
	if o.InfraID == "" {
		return errors.New("the HostedCluster is gone and --infra-id is not given; both name the resources to destroy, so one is needed")
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
		return fmt.Errorf("HostedCluster %s is still being deleted after %s (%s); see `kubectl -n %s describe hostedcluster %s`, then run the command again",
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
