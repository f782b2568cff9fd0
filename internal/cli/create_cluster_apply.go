package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// applyManager owns what create cluster and create nodepool apply.
const applyManager = "hypershift-cli"

// checkManagementCluster connects, and refuses a cluster of the same name unless it is this one, continued by its
// infrastructure id.
func (c *clusterCreator) checkManagementCluster(ctx context.Context) error {
	f := c.flags
	key := client.ObjectKey{Namespace: f.cluster.Namespace, Name: f.cluster.Name}
	hc := &hyperv1.HostedCluster{}
	backoff := wait.Backoff{Steps: 5, Duration: time.Second, Factor: 2, Jitter: 0.1}
	again := func(err error) bool {
		if ctx.Err() != nil || !isTransient(err) {
			return false
		}
		c.say("the management cluster does not answer, asking again: %v", err)
		return true
	}
	err := retry.OnError(backoff, again, func() error { return c.client.Get(ctx, key, hc) })
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case meta.IsNoMatchError(err):
		return errNotInstalled
	case err != nil:
		return fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	case !hc.DeletionTimestamp.IsZero():
		return fmt.Errorf("HostedCluster %s already exists and is being deleted; wait for that, or finish it with `hypershift destroy cluster azure`", key)
	case f.infra.InfraID != "" && hc.Spec.InfraID == f.infra.InfraID:
		c.existing = hc
		return nil
	}
	return fmt.Errorf("HostedCluster %s already exists; choose another --name, or continue its creation with --infra-id %s", key, hc.Spec.InfraID)
}

// warnUnpublished says when nobody will write the host names beneath the external domain: without their records the cluster's nodes
// and its users do not find it.
func (c *clusterCreator) warnUnpublished(ctx context.Context) {
	cluster := &c.flags.cluster
	domain := cluster.Publishing.ExternalDNSDomain
	if domain == "" {
		return
	}
	list := &appsv1.DeploymentList{}
	if err := c.client.List(ctx, list); err != nil {
		c.say("warning: cannot see whether ExternalDNS is installed: %v", err)
		return
	}
	const arg = "--domain-filter="
	why := "the management cluster runs no ExternalDNS (`hypershift install --external-dns-provider=azure ...`)"
	for _, d := range list.Items {
		if d.Name != "external-dns" || len(d.Spec.Template.Spec.Containers) == 0 {
			continue
		}
		for _, a := range d.Spec.Template.Spec.Containers[0].Args {
			filter, ok := strings.CutPrefix(a, arg)
			if ok && (filter == domain || strings.HasSuffix(domain, "."+filter)) {
				return
			}
			if ok {
				why = fmt.Sprintf("ExternalDNS %s/%s writes only to %s", d.Namespace, d.Name, filter)
			}
		}
	}
	c.say("warning: %s; until you publish api-%s.%s and the other endpoints yourself, the cluster does not become available", why, cluster.Name, domain)
}

// isTransient tells whether the same question may be answered a moment later.
func isTransient(err error) bool {
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

// apply writes the objects in order; each carries the infrastructure id, by which destroy finds them.
func (c *clusterCreator) apply(ctx context.Context) error {
	inventory, err := c.inventorySecret(ctx)
	if err != nil {
		return err
	}
	if c.existing != nil {
		if err := c.write(ctx, inventory); err != nil {
			return err
		}
		return c.complete(ctx)
	}
	if err := c.keepGenerated(ctx); err != nil {
		return err
	}
	objs := slices.Insert(c.flags.cluster.Objects(), 1, client.Object(inventory)) // after the namespace, and before what may be destroyed
	for _, obj := range objs {
		put := c.write
		switch obj.(type) {
		case *hyperv1.HostedCluster, *hyperv1.NodePool:
			put = c.make
		}
		if err := put(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// own marks an object with the infrastructure id.
func (c *clusterCreator) own(obj client.Object) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hyperv1.AutoInfraLabel] = c.flags.cluster.Infra.InfraID
	obj.SetLabels(labels)
}

// write has the object as it is asked for, whatever was there.
func (c *clusterCreator) write(ctx context.Context, obj client.Object) error {
	c.own(obj)
	if err := kube.ApplyAlways(ctx, c.client, applyManager, obj); err != nil {
		return err
	}
	c.done("applied", obj)
	return nil
}

// make makes an object that is not there; one that another hand has made meanwhile stays as it is.
func (c *clusterCreator) make(ctx context.Context, obj client.Object) error {
	c.own(obj)
	kind := obj.GetObjectKind().GroupVersionKind().Kind // the client empties it
	err := c.client.Create(ctx, obj, client.FieldOwner(applyManager))
	obj.GetObjectKind().SetGroupVersionKind(hyperv1.GroupVersion.WithKind(kind))
	switch {
	case apierrors.IsAlreadyExists(err):
		c.done("kept", obj)
	case err != nil:
		return fmt.Errorf("cannot create %s %s: %w", kind, client.ObjectKeyFromObject(obj), err)
	default:
		c.done("created", obj)
	}
	return nil
}

// done tells what was done with an object, and keeps it for the result.
func (c *clusterCreator) done(action string, obj client.Object) {
	step := stack.Step{Kind: obj.GetObjectKind().GroupVersionKind().Kind, Name: client.ObjectKeyFromObject(obj).String(), Action: action}
	c.result = append(c.result, step)
	c.say("%s %s %s", action, step.Kind, step.Name)
}

// keepGenerated puts the keys of an earlier run in place of the ones just generated: replacing the encryption key of a
// living cluster would lose its Secrets.
func (c *clusterCreator) keepGenerated(ctx context.Context) error {
	for _, obj := range c.flags.cluster.Objects() {
		secret, ok := obj.(*corev1.Secret)
		if !ok {
			continue
		}
		live := &corev1.Secret{}
		err := c.client.Get(ctx, client.ObjectKeyFromObject(secret), live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read Secret %s: %w", client.ObjectKeyFromObject(secret), err)
		}
		if live.Labels[hyperv1.AutoInfraLabel] != c.flags.cluster.Infra.InfraID {
			continue
		}
		s := &c.flags.cluster.Secrets
		if secret.Type == corev1.SecretTypeOpaque {
			if err := c.flags.keepEncryptionKey(live); err != nil {
				return err
			}
		}
		if private := live.Data[hyperv1.SSHPrivateKeyKey]; len(private) > 0 && c.flags.generateSSH {
			s.SSHPrivateKey, s.SSHPublicKey = private, live.Data[hyperv1.SSHPublicKeyKey]
		}
	}
	return nil
}

// waitForCluster reports every change until the cluster is available and its node pools have their nodes.
func (c *clusterCreator) waitForCluster(ctx context.Context) error {
	last := ""
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		state, done, err := c.progress(ctx)
		if err != nil {
			if isTransient(err) {
				return false, nil
			}
			return false, err
		}
		if state != last {
			c.say("%s", state)
			last = state
		}
		return done, nil
	})
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("waiting for HostedCluster %s/%s: %w; last: %s; it goes on without this command, see `kubectl -n %s get hostedcluster,nodepool`",
		c.flags.cluster.Namespace, c.flags.cluster.Name, err, last, c.flags.cluster.Namespace)
}

// progress describes the state in one sentence and tells whether all is done.
func (c *clusterCreator) progress(ctx context.Context) (string, bool, error) {
	f := c.flags
	hc := &hyperv1.HostedCluster{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: f.cluster.Namespace, Name: f.cluster.Name}, hc); err != nil {
		return "", false, fmt.Errorf("reading the HostedCluster: %w", err)
	}
	if !kube.IsTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		return "waiting for the control plane: " + explain(hc), false, nil
	}
	pools := &hyperv1.NodePoolList{}
	if err := c.client.List(ctx, pools, client.InNamespace(f.cluster.Namespace)); err != nil {
		return "", false, fmt.Errorf("reading the NodePools: %w", err)
	}
	var ready, wanted int32
	var why []string
	for i := range pools.Items {
		np := &pools.Items[i]
		if np.Spec.ClusterName != f.cluster.Name || np.Spec.Replicas == nil {
			continue
		}
		ready += np.Status.Replicas
		wanted += *np.Spec.Replicas
		if problem := poolProblem(np); problem != "" && np.Status.Replicas < *np.Spec.Replicas {
			why = append(why, "NodePool "+np.Name+": "+problem)
		}
	}
	if ready < wanted {
		state := fmt.Sprintf("the control plane is available; %d of %d nodes are ready", ready, wanted)
		return strings.Join(append([]string{state}, why...), "; "), false, nil
	}
	if v := hc.Status.Version; v == nil || len(v.History) == 0 || v.History[0].CompletionTime == nil {
		return "the nodes are ready; the rollout of the release is not complete yet", false, nil
	}
	return fmt.Sprintf("hosted cluster %s is available with %d nodes", f.cluster.Name, ready), true, nil
}

// poolProblem returns the message of the condition that says most about why machines are missing.
func poolProblem(np *hyperv1.NodePool) string {
	for _, name := range []string{
		hyperv1.NodePoolValidReleaseImage, hyperv1.NodePoolValidPlatformImage, hyperv1.NodePoolValidPlatformConfig, hyperv1.NodePoolValidArchPlatform,
		hyperv1.NodePoolSupportedVersionSkew, hyperv1.NodePoolValidMachineConfig, hyperv1.NodePoolValidGeneratedPayload,
		hyperv1.NodePoolReachedIgnitionEndpoint, hyperv1.NodePoolAllMachinesReady, hyperv1.NodePoolAllNodesHealthy,
	} {
		for _, c := range np.Status.Conditions {
			if c.Type == name && c.Status == corev1.ConditionFalse {
				return c.Reason + ": " + oneLine(errors.New(c.Message))
			}
		}
	}
	return ""
}

// explain returns the message of the condition that says most about what is missing.
func explain(hc *hyperv1.HostedCluster) string {
	for _, name := range []string{
		hyperv1.ValidHostedClusterConfiguration, hyperv1.SupportedHostedCluster, hyperv1.ValidReleaseImage,
		hyperv1.PlatformCredentialsFound, hyperv1.ReconciliationSucceeded,
	} {
		if cond := kube.Find(hc.Status.Conditions, name); cond != nil && cond.Status == "False" {
			return cond.Reason + ": " + cond.Message
		}
	}
	if cond := kube.Find(hc.Status.Conditions, hyperv1.HostedClusterAvailable); cond != nil && cond.Message != "" {
		return cond.Message
	}
	return "not reported yet"
}
