package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/existing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// finish applies the plan, and tells what there is then and what comes next.
func (c *creation) finish(ctx context.Context, r resolved, cluster manifest.Cluster) error {
	p, err := c.plan(ctx, r, cluster)
	if err != nil {
		return err
	}
	done, err := c.apply(ctx, r, p)
	if err != nil {
		return err
	}
	if r.typed.wait {
		if err := c.waitForCluster(ctx, r.client, p.cluster, r.typed.timeout); err != nil {
			return err
		}
	}
	c.tellNext(p.cluster)
	return c.printResult(r, p.cluster, done)
}

// apply writes the objects of the plan and, beside a cluster that is there, what it lacks; what is there stays as it is. It returns what
// was done with each object.
func (c *creation) apply(ctx context.Context, r resolved, p plan) ([]stack.Step, error) {
	var done []stack.Step
	put := func(how func(context.Context, client.Client, client.Object) (string, error), obj client.Object) error {
		action, err := how(ctx, r.client, obj)
		if err != nil {
			return err
		}
		step := stack.Step{Kind: kindOf(obj), Name: client.ObjectKeyFromObject(obj).String(), Action: action}
		c.say("%s %s %s", step.Action, step.Kind, step.Name)
		done = append(done, step)
		return nil
	}
	for _, obj := range p.objects {
		how := write
		switch obj.(type) {
		case *hyperv1.HostedCluster, *hyperv1.NodePool:
			how = create
		}
		if err := put(how, obj); err != nil {
			return done, err
		}
	}
	if r.existing == nil {
		return done, nil
	}
	missing, err := existing.Missing(ctx, r.client, r.typed.wishes(), r.existing, p.cluster)
	if err != nil {
		return done, err
	}
	for _, obj := range owned(p.cluster, missing...) {
		if err := put(create, obj); err != nil {
			return done, err
		}
	}
	return done, nil
}

func kindOf(obj client.Object) string { return obj.GetObjectKind().GroupVersionKind().Kind }

// write has the object as it is asked for, whatever was there.
func write(ctx context.Context, in client.Client, obj client.Object) (action string, err error) {
	return "applied", kube.ApplyAlways(ctx, in, management.FieldManager, obj)
}

// create makes an object that is not there; one that another hand has made meanwhile stays as it is.
func create(ctx context.Context, in client.Client, obj client.Object) (action string, err error) {
	kind := obj.GetObjectKind().GroupVersionKind() // the client empties it
	err = in.Create(ctx, obj, client.FieldOwner(management.FieldManager))
	obj.GetObjectKind().SetGroupVersionKind(kind)
	switch {
	case apierrors.IsAlreadyExists(err):
		return "kept", nil
	case err != nil:
		return "", fmt.Errorf("cannot create %s %s: %w", kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
	return "created", nil
}
