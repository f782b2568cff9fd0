package nodepool

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// shortChecks are the short tier's part of the test of lives; -rapid.checks asks for more.
const shortChecks = "20"

// serverChecks is that of the same test on an API server.
const serverChecks = "2"

// enoughRounds is more than the longest update of this test takes, a machine at a time.
const enoughRounds = 80

var (
	livePools   = []string{"blue", "green", "red"}
	liveImages  = []string{"quay.io/release:4.21.0", "quay.io/release:4.21.1", "quay.io/release:4.21.2"}
	liveConfigs = []string{"", "110", "111"}
	liveSizes   = []string{"Standard_D4s_v3", "Standard_D8s_v3"}
)

// byTag has the release that an image's tag says.
type byTag struct{}

func (byTag) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	found := payload()
	found.Version = image[len("quay.io/release:"):]
	return found, nil
}

// wish is what a user asked of a pool that decides what its machines are.
type wish struct{ image, config, size string }

// lives is a world of several pools, what their user asked for, and what machines were made of it.
type lives struct {
	*world
	wishes map[string]wish
	// targets are what a wish became the first time, by pool. It never becomes anything else.
	targets map[string]map[wish]string
	made    int
}

// TestLivesOfPools does random things to node pools in random order, while machines come and go one by one and the operator starts anew
// now and then. In the end every pool has the machines that were asked for last; what asks for nothing replaces none; a wish is the same
// configuration whenever it is made.
func TestLivesOfPools(t *testing.T) {
	setUnlessGiven(t, "rapid.checks", shortChecks)
	setUnlessGiven(t, "rapid.nofailfile", "true")
	rapid.Check(t, func(r *rapid.T) { live(t, r, newWorld(t, surroundings(t)...), 30) })
}

// TestLivesOfPoolsOnServer is the same on a real API server, which has schemas, generations, managed fields, and a status of its own. It takes
// longer, and does less.
func TestLivesOfPoolsOnServer(t *testing.T) {
	setUnlessGiven(t, "rapid.checks", serverChecks)
	setUnlessGiven(t, "rapid.nofailfile", "true")
	rapid.Check(t, func(r *rapid.T) {
		w := onServer(t)
		w.clear(t, hyperv1.GroupVersion.WithKind("NodePool"))
		live(t, r, w, 15)
	})
}

// live is one life of the pools of a world, in which at most so many things are done to them.
func live(t *testing.T, r *rapid.T, w *world, most int) {
	l := newLives(t, w)
	for _, name := range livePools {
		l.add(r, name)
	}
	for _, act := range rapid.SliceOfN(rapid.SampledFrom(poolActions), 4, most).Draw(r, "actions") {
		act.do(l, r, rapid.SampledFrom(livePools).Draw(r, "pool"))
	}
	l.settle(r)
	l.checkRest(r)
	l.checkNeutral(r)
	for _, name := range livePools {
		l.remove(r, name)
	}
	l.settle(r)
	l.checkGone(r)
}

// setUnlessGiven chooses a value for a flag that the command line leaves open.
func setUnlessGiven(t *testing.T, name, value string) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

func newLives(t *testing.T, w *world) *lives {
	t.Helper()
	l := &lives{world: w, wishes: map[string]wish{}, targets: map[string]map[wish]string{}}
	runs := autoscaler(1)
	l.createIfMissing(t, runs)
	if l.real {
		runs.Status = autoscaler(1).Status
		if err := l.client.Status().Update(t.Context(), runs); err != nil {
			t.Fatal(err)
		}
	}
	for _, content := range liveConfigs[1:] {
		l.createIfMissing(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "pods-" + content}, Data: map[string]string{
			hyperv1.NodePoolConfigKey: "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: pods}\nspec: {kubeletConfig: {maxPods: " + content + "}}"}})
	}
	l.restart()
	return l
}

// restart is an operator that remembers nothing.
func (l *lives) restart() {
	former := l.Reconciler
	tokens := 0
	l.Reconciler = &Reconciler{client: former.client, live: former.live, releases: byTag{}, now: former.now, resolve: former.resolve, ask: former.ask, readSizes: former.readSizes,
		newToken: func() string { tokens++; return fmt.Sprintf("token-%d", tokens) }}
}

type poolAction struct {
	name string
	do   func(*lives, *rapid.T, string)
}

func (a poolAction) String() string { return a.name }

// poolActions are the user's, the autoscaler's, Cluster API's and fate's.
var poolActions = []poolAction{
	{"create", (*lives).add},
	{"pass", (*lives).passes},
	{"machines", func(l *lives, r *rapid.T, name string) {
		for range rapid.IntRange(1, 4).Draw(r, "steps") {
			l.machinesStep(r, name)
		}
	}},
	{"scale", func(l *lives, r *rapid.T, name string) {
		l.edit(r, name, func(np *hyperv1.NodePool) {
			np.Spec.AutoScaling, np.Spec.Replicas = nil, ptr.To(rapid.Int32Range(0, 4).Draw(r, "replicas"))
		})
	}},
	{"autoscale", func(l *lives, r *rapid.T, name string) {
		lowest := rapid.Int32Range(0, 2).Draw(r, "min")
		l.edit(r, name, func(np *hyperv1.NodePool) {
			np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: lowest, Max: lowest + rapid.Int32Range(1, 2).Draw(r, "more")}
		})
	}},
	{"release", func(l *lives, r *rapid.T, name string) {
		image := rapid.SampledFrom(liveImages).Draw(r, "image")
		l.edit(r, name, func(np *hyperv1.NodePool) { np.Spec.Release.Image = image })
	}},
	{"config", func(l *lives, r *rapid.T, name string) {
		content := rapid.SampledFrom(liveConfigs).Draw(r, "config")
		l.edit(r, name, func(np *hyperv1.NodePool) {
			np.Spec.Config = nil
			if content != "" {
				np.Spec.Config = []corev1.LocalObjectReference{{Name: "pods-" + content}}
			}
		})
	}},
	{"size", func(l *lives, r *rapid.T, name string) {
		size := rapid.SampledFrom(liveSizes).Draw(r, "size")
		l.edit(r, name, func(np *hyperv1.NodePool) { np.Spec.Platform.Azure.VMSize = size })
	}},
	{"neutral", (*lives).neutral},
	{"pause", func(l *lives, r *rapid.T, name string) {
		l.edit(r, name, func(np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To("true") })
	}},
	{"resume", func(l *lives, r *rapid.T, name string) {
		l.edit(r, name, func(np *hyperv1.NodePool) { np.Spec.PausedUntil = nil })
	}},
	{"operator starts anew", func(l *lives, _ *rapid.T, _ string) { l.restart() }},
	{"delete", (*lives).remove},
}

func (l *lives) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "clusters", Name: name}
}

// find is nil where there is no such pool.
func (l *lives) find(name string) *hyperv1.NodePool {
	np := &hyperv1.NodePool{}
	if l.client.Get(context.Background(), l.key(name), np) != nil {
		return nil
	}
	return np
}

func (l *lives) add(r *rapid.T, name string) {
	np := nodePool()
	np.Name, np.Spec.Release.Image, np.Spec.Replicas = name, liveImages[0], ptr.To[int32](1)
	if l.real {
		np.Spec.Platform.Azure.SubnetID = storedCluster().Spec.Platform.Azure.SubnetID
	}
	if err := l.client.Create(context.Background(), np); err != nil && !apierrors.IsAlreadyExists(err) {
		r.Fatal(err)
	}
	l.wished(name)
}

// wished remembers what the pool's user asks for now.
func (l *lives) wished(name string) {
	np := l.find(name)
	w := wish{image: np.Spec.Release.Image, size: np.Spec.Platform.Azure.VMSize}
	for _, ref := range np.Spec.Config {
		w.config = ref.Name
	}
	l.wishes[name] = w
}

func (l *lives) edit(r *rapid.T, name string, change func(*hyperv1.NodePool)) {
	np := l.find(name)
	if np == nil || !np.DeletionTimestamp.IsZero() {
		return
	}
	change(np)
	if err := l.client.Update(context.Background(), np); err != nil {
		r.Fatal(err)
	}
	l.wished(name)
}

// neutral changes what reaches nodes where they are, or nothing of them at all.
func (l *lives) neutral(r *rapid.T, name string) {
	value := rapid.SampledFrom([]string{"gold", "silver"}).Draw(r, "value")
	l.edit(r, name, func(np *hyperv1.NodePool) {
		np.Spec.NodeLabels = map[string]string{"tier": value}
		np.Spec.Taints = []hyperv1.Taint{{Key: "tier", Value: value, Effect: corev1.TaintEffectNoSchedule}}
		np.Spec.Management.AutoRepair = value == "gold"
		np.Spec.NodeDrainTimeout = nil
	})
}

func (l *lives) remove(r *rapid.T, name string) {
	if np := l.find(name); np != nil {
		if err := l.client.Delete(context.Background(), np); client.IgnoreNotFound(err) != nil {
			r.Fatal(err)
		}
	}
}

// passes makes one pass over the pool and holds its target to the wish: a pass that asks for machines asks for those that were wished.
func (l *lives) passes(r *rapid.T, name string) {
	if _, err := l.Reconcile(context.Background(), ctrl.Request{NamespacedName: l.key(name)}); err != nil {
		r.Fatalf("%s: %v", name, err)
	}
	np, deployment := l.find(name), l.deployment(r, name)
	if np == nil || deployment == nil || np.Spec.PausedUntil != nil || !np.DeletionTimestamp.IsZero() {
		return
	}
	l.checkNeeded(r, name)
	known := l.targets[name]
	if known == nil {
		known = map[wish]string{}
		l.targets[name] = known
	}
	asked, target := l.wishes[name], targetOf(deployment)
	if former, seen := known[asked]; seen && former != target {
		r.Fatalf("%s: %+v was %s, and is %s now", name, asked, former, target)
	}
	for other, its := range known {
		if other != asked && its == target {
			r.Fatalf("%s: %+v and %+v both are %s", name, other, asked, target)
		}
	}
	known[asked] = target
}

// settle takes pauses away and lets everybody work until nobody has anything to do.
func (l *lives) settle(r *rapid.T) {
	for _, name := range livePools {
		l.edit(r, name, func(np *hyperv1.NodePool) { np.Spec.PausedUntil = nil })
	}
	for range enoughRounds {
		l.writes = nil
		busy := false
		for _, name := range livePools {
			l.passes(r, name)
			busy = l.machinesStep(r, name) || busy
		}
		if !busy && len(l.writes) == 0 {
			return
		}
	}
	r.Fatalf("there is no rest after %d rounds; last written: %v", enoughRounds, l.writes)
}

// checkRest: every pool has what was asked for last, and nothing of what was asked for before.
func (l *lives) checkRest(r *rapid.T) {
	for _, name := range livePools {
		np := l.find(name)
		if np == nil {
			continue
		}
		deployment := l.deployment(r, name)
		replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
		if scaling := np.Spec.AutoScaling; scaling == nil && replicas != int64(*np.Spec.Replicas) || scaling != nil && (replicas < int64(max(scaling.Min, 1)) || replicas > int64(scaling.Max)) {
			r.Errorf("%s: %d replicas, and %v or %+v are asked for", name, replicas, np.Spec.Replicas, scaling)
		}
		machines := l.list(r, clusterapi.Machine, name)
		if len(machines) != int(replicas) {
			r.Errorf("%s: %d machines, want %d", name, len(machines), replicas)
		}
		for i := range machines {
			if got, want := targetOf(&machines[i]), targetOf(deployment); got != want {
				r.Errorf("%s: machine %s is %s, want %s", name, machines[i].GetName(), got, want)
			}
		}
		l.checkUpdated(r, np)
	}
}

// checkUpdated: the pool says that its update is over, and what served it is gone.
func (l *lives) checkUpdated(r *rapid.T, np *hyperv1.NodePool) {
	if got, want := np.Status.Version, np.Spec.Release.Image[len("quay.io/release:"):]; got != want {
		r.Errorf("%s: version %s, want %s", np.Name, got, want)
	}
	for _, updating := range []string{hyperv1.NodePoolUpdatingConfig, hyperv1.NodePoolUpdatingVersion, hyperv1.NodePoolUpdatingPlatformMachineTemplate} {
		if c := condition(np, updating); c.Status != corev1.ConditionFalse {
			r.Errorf("%s: %s is %s: %s", np.Name, updating, c.Status, c.Message)
		}
	}
	if templates := l.list(r, clusterapi.AzureMachineTemplate, np.Name); len(templates) != 1 {
		r.Errorf("%s: %d templates", np.Name, len(templates))
	}
}

// checkNeutral: neither an operator that starts anew nor what asks for no other machine replaces one, nor what is done to another pool.
func (l *lives) checkNeutral(r *rapid.T) {
	before := l.present(r)
	l.restart()
	l.writes = nil
	for _, name := range livePools {
		l.passes(r, name)
	}
	if len(l.writes) > 0 {
		r.Errorf("an operator that starts anew writes %v", l.writes)
	}
	changed := rapid.SampledFrom(livePools).Draw(r, "changed pool")
	for _, name := range livePools {
		l.neutral(r, name)
	}
	l.edit(r, changed, func(np *hyperv1.NodePool) {
		np.Spec.Release.Image = liveImages[(slices.Index(liveImages, np.Spec.Release.Image)+1)%len(liveImages)]
	})
	l.settle(r)
	l.checkRest(r)
	after := l.present(r)
	delete(before, changed)
	delete(after, changed)
	if !maps.EqualFunc(before, after, slices.Equal) {
		r.Errorf("the machines were %v and are %v, where nobody asked for others", before, after)
	}
}

// present are the names of the machines, by pool.
func (l *lives) present(r *rapid.T) map[string][]string {
	out := map[string][]string{}
	for _, name := range livePools {
		for _, machine := range l.list(r, clusterapi.Machine, name) {
			out[name] = append(out[name], machine.GetName())
		}
	}
	return out
}

func (l *lives) checkGone(r *rapid.T) {
	for _, name := range livePools {
		if l.find(name) != nil {
			r.Errorf("%s is still there", name)
		}
		for _, gvk := range []schema.GroupVersionKind{clusterapi.Machine, clusterapi.MachineDeployment, clusterapi.MachineHealthCheck, clusterapi.AzureMachineTemplate, corev1.SchemeGroupVersion.WithKind("Secret")} {
			if left := l.list(r, gvk, name); len(left) > 0 {
				r.Errorf("%s left %d of %s", name, len(left), gvk.Kind)
			}
		}
	}
}
