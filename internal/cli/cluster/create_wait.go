package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// waitForCluster reports every change until the cluster is available and its node pools have their nodes.
func (c *creation) waitForCluster(ctx context.Context, in client.Client, cluster manifest.Cluster, limit time.Duration) error {
	watch := progress.NewWatch(c.say, limit)
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		state, done, err := progressOf(ctx, in, cluster)
		if err != nil {
			if management.IsTransient(err) {
				return false, nil
			}
			return false, err
		}
		watch.Saw(state)
		return done, nil
	})
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("waiting for HostedCluster %s/%s: %w; last: %s; it goes on without this command, see `kubectl -n %s get hostedcluster,nodepool`",
		cluster.Namespace, cluster.Name, err, watch.Last(), cluster.Namespace)
}

// progressOf describes the state in one sentence and tells whether all is done.
func progressOf(ctx context.Context, in client.Client, cluster manifest.Cluster) (string, bool, error) {
	hc := &hyperv1.HostedCluster{}
	if err := in.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name}, hc); err != nil {
		return "", false, fmt.Errorf("reading the HostedCluster: %w", err)
	}
	if !kube.IsTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
		return "waiting for the control plane: " + explain(hc), false, nil
	}
	pools := &hyperv1.NodePoolList{}
	if err := in.List(ctx, pools, client.InNamespace(cluster.Namespace)); err != nil {
		return "", false, fmt.Errorf("reading the NodePools: %w", err)
	}
	var ready, wanted int32
	var why []string
	for i := range pools.Items {
		np := &pools.Items[i]
		if np.Spec.ClusterName != cluster.Name || np.Spec.Replicas == nil {
			continue
		}
		ready += np.Status.Replicas
		wanted += *np.Spec.Replicas
		if problem := machines.Problem(np); problem != "" && np.Status.Replicas < *np.Spec.Replicas {
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
	return fmt.Sprintf("hosted cluster %s is available with %d nodes", cluster.Name, ready), true, nil
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
