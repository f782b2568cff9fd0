package plane

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// paced is the management cluster for programs that tell there what a guest does: however often that changes its mind, the status of the
// one HostedControlPlane is written at a pace that the management cluster's etcd does not feel.
type paced struct {
	cluster.Cluster
	client client.Client
}

func (p paced) GetClient() client.Client { return p.client }

type pacedClient struct {
	client.Client
	pace flowcontrol.RateLimiter
}

func (c pacedClient) Status() client.SubResourceWriter {
	return pacedStatus{c.Client.Status(), c.pace}
}

type pacedStatus struct {
	client.SubResourceWriter
	pace flowcontrol.RateLimiter
}

func (s pacedStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := s.pace.Wait(ctx); err != nil {
		return err
	}
	return s.SubResourceWriter.Update(ctx, obj, opts...)
}
