package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// applyCRDs tries all definitions in a dry run first: half of them would be worse than none.
func (i *installer) applyCRDs(ctx context.Context) error {
	crds, err := i.opts.CRDs()
	if err != nil {
		return err
	}
	if err := applyAtOnce(ctx, client.NewDryRunClient(i.client), crds, true); err != nil {
		return fmt.Errorf("the management cluster refuses a definition, nothing was changed: %w", err)
	}
	i.say("the management cluster accepts all %d definitions", len(crds))
	if err := i.claimCRDs(ctx, crds); err != nil {
		return err
	}
	if err := applyAtOnce(ctx, i.client, crds, false); err != nil {
		return err
	}
	for _, crd := range crds {
		i.applied("applied", crd)
	}
	if !i.waitAvailable && !i.waitEstablished {
		return nil
	}
	return i.waitForCRDs(ctx, crds)
}

// applyAtOnce applies several definitions at a time: the API server takes a good tenth of a second for each, because it compiles
// them.
func applyAtOnce(ctx context.Context, c client.Client, crds []*apiextensionsv1.CustomResourceDefinition, dryRun bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, crd := range crds {
		group.Go(func() error { return applyCRD(ctx, c, crd, dryRun) })
	}
	return group.Wait()
}

func applyCRD(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition, dryRun bool) error {
	if conversion := crd.Spec.Conversion; conversion != nil && conversion.Strategy == apiextensionsv1.NoneConverter {
		dropped, err := dropWebhook(ctx, c, crd.Name)
		// A dry run leaves the webhook there, and the apply would stumble over it.
		if err != nil || (dropped && dryRun) {
			return err
		}
	}
	return kube.ApplyAlways(ctx, c, install.FieldManager, crd)
}

// dropWebhook takes a webhook away that is not wanted any more. Apply cannot: the operator owns the authority in it.
func dropWebhook(ctx context.Context, c client.Client, name string) (bool, error) {
	live := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if live.Spec.Conversion == nil || live.Spec.Conversion.Webhook == nil {
		return false, nil
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
	target := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Patch(ctx, target, patch, client.FieldOwner(install.FieldManager)); err != nil {
		return false, fmt.Errorf("taking the conversion webhook of definition %s away: %w", name, err)
	}
	return true, nil
}

func (i *installer) waitForCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	pending := ""
	err := management.Within(ctx, 100*time.Millisecond, i.patience, func(ctx context.Context) (bool, error) {
		for _, crd := range crds {
			live := &apiextensionsv1.CustomResourceDefinition{}
			if err := i.client.Get(ctx, client.ObjectKeyFromObject(crd), live); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			if !established(live) {
				pending = crd.Name
				return false, nil
			}
		}
		return true, nil
	})
	if errors.Is(err, management.ErrTimeUp) && pending != "" {
		return fmt.Errorf("definition %s was not established within %s; see `kubectl describe crd %s`", pending, i.patience, pending)
	}
	return err
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// refuseForeign finds the access of an ExternalDNS of somebody else's: install would overwrite it, and uninstall delete it.
func (i *installer) refuseForeign(ctx context.Context) error {
	var foreign []string
	for _, obj := range i.opts.Objects() {
		kind := obj.GetObjectKind().GroupVersionKind()
		if kind.Group != rbacv1.GroupName || obj.GetNamespace() != "" || obj.GetName() != install.ExternalDNSRole {
			continue
		}
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(kind)
		err := i.client.Get(ctx, client.ObjectKeyFromObject(obj), live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot tell who made %s: %w", kindAndName(obj), err)
		}
		if !madeByInstall(live) {
			foreign = append(foreign, kindAndName(obj))
		}
	}
	if len(foreign) > 0 {
		return fmt.Errorf("nothing was changed: not made by install, which would overwrite it: %s; rename it, or delete it if nothing uses it",
			strings.Join(foreign, ", "))
	}
	return nil
}

// applyObjects attempts all objects and reports what failed at the end.
func (i *installer) applyObjects(ctx context.Context) error {
	var errs []error
	for _, obj := range i.opts.Objects() {
		if class, ok := obj.(*schedulingv1.PriorityClass); ok {
			if err := i.createPriorityClass(ctx, class); err != nil {
				return err
			}
			continue
		}
		if err := kube.ApplyAlways(ctx, i.client, install.FieldManager, obj); err != nil {
			errs = append(errs, err)
			continue
		}
		i.applied("applied", obj)
	}
	return errors.Join(errs...)
}

// createPriorityClass leaves an existing class alone: its value cannot be changed.
func (i *installer) createPriorityClass(ctx context.Context, class *schedulingv1.PriorityClass) error {
	// Create empties the kind of what it is given.
	err := i.client.Create(ctx, class.DeepCopy(), client.FieldOwner(install.FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		i.applied("already exists", class)
	case err != nil:
		return fmt.Errorf("creating PriorityClass %q: %w", class.Name, err)
	default:
		i.applied("created", class)
	}
	return nil
}

func (i *installer) applied(verb string, obj client.Object) {
	fmt.Fprintf(i.out, "%s %s\n", verb, kindAndName(obj))
}

// kindAndName is what a line about an object begins with.
func kindAndName(obj client.Object) string {
	name := obj.GetName()
	if obj.GetNamespace() != "" {
		name = obj.GetNamespace() + "/" + name
	}
	return obj.GetObjectKind().GroupVersionKind().Kind + " " + name
}
