package steps

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Recording is a client that notes each successful write with the step that is running. Contents are not noted.
func Recording(c client.Client) client.Client { return recording{c} }

type recording struct{ client.Client }

func (r recording) note(ctx context.Context, verb string, obj client.Object, err error) error {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok && err == nil {
		t.wrote(verb + " " + r.describe(obj))
	}
	return err
}

func (r recording) describe(obj client.Object) string {
	kind := "object"
	if gvk, err := apiutil.GVKForObject(obj, r.Scheme()); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + client.ObjectKeyFromObject(obj).String()
}

func (r recording) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return r.note(ctx, "create", obj, r.Client.Create(ctx, obj, opts...))
}

func (r recording) Apply(ctx context.Context, applied runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	err := r.Client.Apply(ctx, applied, opts...)
	if obj, ok := applied.(client.Object); ok {
		return r.note(ctx, "apply", obj, err)
	}
	return err
}

func (r recording) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return r.note(ctx, "update", obj, r.Client.Update(ctx, obj, opts...))
}

func (r recording) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return r.note(ctx, "patch", obj, r.Client.Patch(ctx, obj, patch, opts...))
}

func (r recording) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return r.note(ctx, "delete", obj, r.Client.Delete(ctx, obj, opts...))
}

func (r recording) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return r.note(ctx, "delete all of", obj, r.Client.DeleteAllOf(ctx, obj, opts...))
}
