// Package existing holds a hosted cluster that exists against what the flags of create cluster ask for.
package existing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// Difference is what a typed flag asks for and what is there instead.
type Difference struct {
	Object string   `json:"object"` // kind and name
	Field  string   `json:"field"`
	Flags  []string `json:"flags"`
	Found  any      `json:"found"`
	Asked  any      `json:"asked"`
	// AskedBefore is set where the same was asked for last time: then somebody has changed the field since, and knows why.
	AskedBefore bool   `json:"askedBefore"`
	Change      string `json:"change"` // the command that changes it, or why nothing does
}

// Flags are the flags of create cluster, as far as they are held against a cluster that exists.
type Flags struct {
	Given         func(flag string) bool // it was typed
	Files         map[string]string      // of the flags that name one
	OperatorImage string                 // of --control-plane-operator-image
}

// comparison collects the differences between what the typed flags ask for and what is there.
type comparison struct {
	client       client.Client
	flags        Flags
	cluster      manifest.Cluster
	existing     *hyperv1.HostedCluster
	earlierAsked map[string]string // what was asked for the last time, by object and field
	asked        map[string]string // that, and what is asked for now
	found        []Difference
}

// Compare holds a cluster that exists against what the flags ask for, which is the cluster. earlier is what they asked for the last
// time; asked is that, and what is asked for now.
func Compare(ctx context.Context, c client.Client, flags Flags, cluster manifest.Cluster, existing *hyperv1.HostedCluster, earlier map[string]string) (asked map[string]string, found []Difference, err error) {
	cmp := &comparison{client: c, flags: flags, cluster: cluster, existing: existing, earlierAsked: earlier, asked: map[string]string{}}
	maps.Copy(cmp.asked, earlier)
	if err := cmp.objects(ctx); err != nil {
		return nil, nil, err
	}
	if err := cmp.secrets(ctx); err != nil {
		return nil, nil, err
	}
	return cmp.asked, cmp.found, nil
}

// String has the command that changes it on a second line.
func (d Difference) String() string {
	text := fmt.Sprintf("%s, %s: there is %s, %s asks for %s", d.Object, d.Field, brief(d.Found), strings.Join(d.Flags, " and "), brief(d.Asked))
	if d.AskedBefore {
		text += ", as it did before; it was changed since"
	}
	return text + "\n    " + d.Change
}

// brief is a value on one line.
func brief(v any) string {
	if v == nil {
		return "none"
	}
	if text, ok := v.(string); ok {
		return text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// objects compares the HostedCluster and those of its node pools that the flags describe.
func (c *comparison) objects(ctx context.Context) error {
	wishes, err := clusterWishes(c.flags, c.cluster)
	if err == nil {
		err = c.object(ctx, c.existing, wishes)
	}
	if err != nil {
		return err
	}
	for _, pool := range c.cluster.Pools() {
		live := &hyperv1.NodePool{}
		err := c.client.Get(ctx, client.ObjectKeyFromObject(pool), live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read NodePool %s: %w", client.ObjectKeyFromObject(pool), err)
		}
		if wishes, err = poolWishes(c.flags, pool); err == nil {
			err = c.object(ctx, live, wishes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wish is what typed flags ask for in one field.
type wish struct {
	object string
	flags  []string
	path   []string
	asked  any
}

func (w wish) field() string { return strings.Join(w.path, ".") }

// wishes are what the typed flags ask for in an object.
func wishes(t Flags, kind string, obj client.Object, fields []field) ([]wish, error) {
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("cannot encode %s %s: %w", kind, obj.GetName(), err)
	}
	var out []wish
	for _, f := range fields {
		if flags := t.givenOf(f.flags); len(flags) > 0 {
			asked, _, _ := unstructured.NestedFieldNoCopy(want, f.path...)
			out = append(out, wish{fmt.Sprintf("%s %s", kind, client.ObjectKeyFromObject(obj)), flags, f.path, asked})
		}
	}
	return out, nil
}

func clusterWishes(t Flags, cluster manifest.Cluster) ([]wish, error) {
	return wishes(t, "HostedCluster", cluster.HostedCluster(), append(slices.Clone(clusterFields), metadataFields(t, cluster)...))
}

func poolWishes(t Flags, pool *hyperv1.NodePool) ([]wish, error) {
	return wishes(t, "NodePool", pool, poolFields)
}

// Wishes is what is asked for of a new cluster, by object and field: a later run knows by it what is asked for anew.
func Wishes(t Flags, cluster manifest.Cluster) (map[string]string, error) {
	asked := map[string]string{}
	all, err := clusterWishes(t, cluster)
	for _, pool := range cluster.Pools() {
		wishes, poolErr := poolWishes(t, pool)
		all, err = append(all, wishes...), errors.Join(err, poolErr)
	}
	for _, w := range all {
		asked[w.object+" "+w.field()] = brief(w.asked)
	}
	for _, r := range references(t, cluster, hyperv1.HostedClusterSpec{}) {
		if t.Given(r.flag) {
			asked[r.record(cluster.Namespace)] = fingerprint(r.content)
		}
	}
	return asked, err
}

func (c *comparison) object(ctx context.Context, live client.Object, wishes []wish) error {
	have, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return fmt.Errorf("cannot compare %s: %w", client.ObjectKeyFromObject(live), err)
	}
	for _, w := range wishes {
		found, _, _ := unstructured.NestedFieldNoCopy(have, w.path...)
		before := c.note(w.object+" "+w.field(), brief(w.asked))
		if fulfils(found, w.asked) {
			continue
		}
		c.found = append(c.found, Difference{Object: w.object, Field: w.field(), Flags: w.flags, Found: found, Asked: w.asked, AskedBefore: before, Change: c.change(ctx, live, w)})
	}
	return nil
}

// metadataFields are the annotations and labels that the flags name.
func metadataFields(t Flags, cluster manifest.Cluster) []field {
	var out []field
	for _, key := range slices.Sorted(maps.Keys(cluster.Annotations)) {
		flag := "annotations"
		if key == hyperv1.ControlPlaneOperatorImageAnnotation && t.OperatorImage != "" {
			flag = "control-plane-operator-image"
		}
		out = append(out, field{flags: []string{flag}, path: []string{"metadata", "annotations", key}})
	}
	for _, key := range slices.Sorted(maps.Keys(cluster.Labels)) {
		out = append(out, field{flags: []string{"labels"}, path: []string{"metadata", "labels", key}})
	}
	return out
}

// givenOf are those of the flags that were typed, as they are typed.
func (t Flags) givenOf(flags []string) []string {
	var out []string
	for _, flag := range flags {
		if t.Given(flag) {
			out = append(out, "--"+flag)
		}
	}
	return out
}

// note keeps what is asked for, and tells whether it was asked for before.
func (c *comparison) note(key, asked string) bool {
	c.asked[key] = asked
	earlier, known := c.earlierAsked[key]
	return known && earlier == asked
}

// fulfils tells whether the found value is what was asked for. It ignores fields that the API server has added.
func fulfils(found, asked any) bool {
	switch asked := asked.(type) {
	case nil:
		return isZero(found)
	case map[string]any:
		have, _ := found.(map[string]any)
		for key, value := range asked {
			if !fulfils(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, _ := found.([]any)
		return slices.EqualFunc(have, asked, fulfils)
	case string:
		have, _ := found.(string)
		// Azure writes its ids in one way and reads them in any.
		return have == asked || strings.HasPrefix(asked, "/subscriptions/") && strings.EqualFold(have, asked)
	}
	return brief(found) == brief(asked) || isZero(asked) && isZero(found)
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// change is the command that would make the field as asked. The API server is asked whether it would accept that.
func (c *comparison) change(ctx context.Context, live client.Object, w wish) string {
	patch := w.asked
	for _, key := range slices.Backward(w.path) {
		patch = map[string]any{key: patch}
	}
	np, isPool := live.(*hyperv1.NodePool)
	scales := isPool && w.field() == "spec.replicas"
	if scales && np.Spec.AutoScaling != nil {
		patch = map[string]any{"spec": map[string]any{"replicas": w.asked, "autoScaling": nil}}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Sprintf("no command can be told: %v", err)
	}
	tried, _ := live.DeepCopyObject().(client.Object)
	err = c.client.Patch(ctx, tried, client.RawPatch(types.MergePatchType, raw), client.DryRunAll)
	switch {
	case apierrors.IsInvalid(err):
		return "it cannot be changed in a cluster that exists: " + causeOf(err)
	case scales && np.Spec.AutoScaling == nil:
		return fmt.Sprintf("kubectl -n %s scale nodepool/%s --replicas=%s", live.GetNamespace(), live.GetName(), brief(w.asked))
	case isPool:
		return fmt.Sprintf("kubectl -n %s patch nodepool %s --type merge -p '%s'", live.GetNamespace(), live.GetName(), raw)
	}
	return fmt.Sprintf("kubectl -n %s patch hostedcluster %s --type merge -p '%s'", live.GetNamespace(), live.GetName(), raw)
}

// causeOf is what the API server says of the field, without the object around it.
func causeOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		return status.Status().Details.Causes[0].Message
	}
	return printing.OneLine(err)
}
