package defrag

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// The leases of a control plane are held long, so that a management cluster that is slow for a while moves nothing.
const (
	leaseDuration = 137 * time.Second
	renewDeadline = 107 * time.Second
	retryPeriod   = 26 * time.Second
)

// Run looks after etcd while it holds the Lease, until the context ends. Losing the Lease ends the process.
func Run(ctx context.Context, o Options) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the management cluster: %w", err)
	}
	return o.run(ctx, client)
}

func (o Options) run(ctx context.Context, client kubernetes.Interface) error {
	if o.Namespace == "" || o.Identity == "" || len(o.Endpoints) == 0 {
		return errors.New("--namespace, --identity and --endpoints are required")
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: contract.EtcdDefragmenter},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: o.watch, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return fmt.Errorf("take part in the election: %w", err)
	}
	elector.Run(ctx)
	if ctx.Err() == nil {
		return fmt.Errorf("lost the Lease %s/%s", o.Namespace, contract.EtcdDefragmenter)
	}
	return nil
}
