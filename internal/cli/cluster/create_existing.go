package cluster

import (
	"cmp"
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
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// difference is what a typed flag asks for and what is there instead.
type difference struct {
	Object string   `json:"object"` // kind and name
	Field  string   `json:"field"`
	Flags  []string `json:"flags"`
	Found  any      `json:"found"`
	Asked  any      `json:"asked"`
	// AskedBefore is set where the same was asked for last time: then somebody has changed the field since, and knows why.
	AskedBefore bool   `json:"askedBefore"`
	Change      string `json:"change"` // the command that changes it, or why nothing does
}

// comparison collects the differences between what the typed flags ask for and what is there.
type comparison struct {
	resolved
	earlierAsked map[string]string // what was asked for the last time, by object and field
	asked        map[string]string // that, and what is asked for now
	found        []difference
}

// compare holds the cluster that exists against the typed flags; defaults are nobody's wish. An error says that a flag asks for what
// is not there, and nothing may be made then. What was asked for the last time as well is only told: the command may be run again after
// somebody has scaled or upgraded the cluster.
func (c *creation) compare(ctx context.Context, r resolved) (resolved, error) {
	earlier, err := c.readAsked(ctx, r.client, r.existing)
	if err != nil {
		return r, err
	}
	cmp := &comparison{resolved: r, earlierAsked: earlier, asked: map[string]string{}}
	maps.Copy(cmp.asked, earlier)
	if err := cmp.objects(ctx); err != nil {
		return r, err
	}
	if err := cmp.secrets(ctx); err != nil {
		return r, err
	}
	r.asked, r.differences = cmp.asked, cmp.found
	return r, c.tellDifferences(r)
}

// tellDifferences prints them, and refuses what is asked for anew.
func (c *creation) tellDifferences(r resolved) error {
	c.say("HostedCluster %s/%s exists with infrastructure id %s and is left as it is; what is missing beside it is made", r.existing.Namespace, r.existing.Name, r.existing.Spec.InfraID)
	var contradicted []string
	for _, d := range r.differences {
		fmt.Fprintln(c.cmd.ErrOrStderr(), d.String())
		if !d.AskedBefore {
			contradicted = append(contradicted, d.Flags...)
		}
	}
	if len(contradicted) == 0 {
		return nil
	}
	slices.Sort(contradicted)
	return fmt.Errorf("HostedCluster %s/%s exists and nothing was changed, although %s would have it otherwise: use the commands above, or leave the flags out",
		r.existing.Namespace, r.existing.Name, strings.Join(slices.Compact(contradicted), ", "))
}

func (d difference) String() string {
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

// continued takes from the cluster that exists what no flag says.
func (r resolved) continued() resolved {
	live := r.existing.Spec
	r.infra.InfraID = cmp.Or(r.infra.InfraID, live.InfraID)
	p := live.Platform.Azure
	if p == nil {
		return r
	}
	if !r.typed.given("location") {
		r.location, r.infra.Location = p.Location, p.Location
	}
	known := &handoff.File{Infra: &infra.Output{BaseDomain: live.DNS.BaseDomain, ResourceGroupName: p.ResourceGroupName,
		VNetID: p.VnetID, SubnetID: p.SubnetID, SecurityGroupID: p.SecurityGroupID}}
	known.ContinueInfra(&r.infra)
	r.cluster.Infra = manifest.Infra{InfraID: live.InfraID, Location: r.infra.Location, BaseDomain: r.infra.BaseDomain, Cloud: r.typed.Cloud,
		ResourceGroup: cmp.Or(r.infra.ResourceGroup, p.ResourceGroupName), VNetID: cmp.Or(r.infra.VNetID, p.VnetID),
		SubnetID: cmp.Or(r.infra.SubnetID, p.SubnetID), SecurityGroupID: cmp.Or(r.infra.NSGID, p.SecurityGroupID)}
	if r.infra.Identities != nil {
		r.cluster.Identity.WorkloadIdentities = identitySet(r.infra.Identities)
	}
	if r.infra.Managed != nil {
		r.cluster.Identity.ManagedIdentities = r.infra.Managed
	}
	return r
}

// objects compares the HostedCluster and those of its node pools that the flags describe.
func (c *comparison) objects(ctx context.Context) error {
	wishes, err := clusterWishes(c.typed, c.cluster)
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
		if wishes, err = poolWishes(c.typed, pool); err == nil {
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
func wishes(t typed, kind string, obj client.Object, fields []field) ([]wish, error) {
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

func clusterWishes(t typed, cluster manifest.Cluster) ([]wish, error) {
	return wishes(t, "HostedCluster", cluster.HostedCluster(), append(slices.Clone(clusterFields), metadataFields(t, cluster)...))
}

func poolWishes(t typed, pool *hyperv1.NodePool) ([]wish, error) {
	return wishes(t, "NodePool", pool, poolFields)
}

// wishesOf is what is asked for of a new cluster, by object and field: a later run knows by it what is asked for anew.
func wishesOf(t typed, cluster manifest.Cluster) (map[string]string, error) {
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
		if t.given(r.flag) {
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
		c.found = append(c.found, difference{Object: w.object, Field: w.field(), Flags: w.flags, Found: found, Asked: w.asked, AskedBefore: before, Change: c.change(ctx, live, w)})
	}
	return nil
}

// metadataFields are the annotations and labels that the flags name.
func metadataFields(t typed, cluster manifest.Cluster) []field {
	var out []field
	for _, key := range slices.Sorted(maps.Keys(cluster.Annotations)) {
		flag := "annotations"
		if key == hyperv1.ControlPlaneOperatorImageAnnotation && t.controlPlaneOperatorImage != "" {
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
func (t typed) givenOf(flags []string) []string {
	var out []string
	for _, flag := range flags {
		if t.given(flag) {
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

// fulfils tells whether what is there is as asked: what the API server has added to it beside is nobody's wish.
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
