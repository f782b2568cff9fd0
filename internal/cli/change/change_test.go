package change

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// tags is a registry whose payloads have their version as tag; it has no tag that begins with "none".
type tags struct{}

func (tags) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	_, tag, _ := strings.Cut(image, ":")
	version := strings.TrimSuffix(tag, "-multi")
	if strings.HasPrefix(tag, "none") || version == "4.22.9" && version == tag {
		return nil, &release.Error{Image: image, Reason: release.ReasonUnreachable}
	}
	return &release.Release{Image: image, Version: version}, nil
}

func objects() []client.Object {
	return []client.Object{surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) { hc.Spec.PullSecret.Name = "pull" }), surveytest.Pool("demo", "demo", 2), surveytest.Pool("demo", "old", 1, func(np *hyperv1.NodePool) { np.Status.Version = "4.19.0" }),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "pull"}}}
}

func of(t *testing.T, c client.Client, pool bool, name string) *target {
	t.Helper()
	return &target{namespace: "clusters", name: name, pool: pool, client: c, timeout: time.Minute, say: func(string, ...any) {}}
}

func pool(t *testing.T, c client.Client, name string) *hyperv1.NodePool {
	t.Helper()
	np := &hyperv1.NodePool{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: name}, np); err != nil {
		t.Fatal(err)
	}
	return np
}

func cluster(t *testing.T, c client.Client) *hyperv1.HostedCluster {
	t.Helper()
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
		t.Fatal(err)
	}
	return hc
}

// refuses compares an error, where there is to be one.
func refuses(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestPauseAndResume(t *testing.T) {
	for _, isPool := range []bool{false, true} {
		c := surveytest.Client(objects()...).Build()
		to := of(t, c, isPool, "demo")
		paused := func() string {
			obj := to.object()
			if err := to.read(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			return ptr.Deref(pausedUntil(obj), "")
		}
		var out bytes.Buffer
		refuses(t, "pause", to.pause(t.Context(), "true", surveytest.Now, &out), "")
		if paused() != "true" {
			t.Errorf("pausedUntil is %q", paused())
		}
		refuses(t, "again", to.pause(t.Context(), "true", surveytest.Now, &out), "")
		refuses(t, "--until", to.pause(t.Context(), "2030-01-02T03:04:05Z", surveytest.Now, &out), "")
		if paused() != "2030-01-02T03:04:05Z" {
			t.Errorf("pausedUntil is %q", paused())
		}
		for _, wrong := range []string{"tomorrow", "2020-01-01T00:00:00Z", "false", ""} {
			refuses(t, wrong, to.pause(t.Context(), wrong, surveytest.Now, &out), "--until")
		}
		refuses(t, "resume", to.setPause(t.Context(), nil, "not paused", &out), "")
		if paused() != "" {
			t.Errorf("pausedUntil is %q", paused())
		}
		refuses(t, "resume again", to.setPause(t.Context(), nil, "not paused", &out), "")
		want := strings.ReplaceAll("X is paused until `hypershift resume`\nX is paused until `hypershift resume` already\nX is paused until 2030-01-02T03:04:05Z\nX is not paused\nX is not paused already\n", "X", to.String())
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
		to.name = "dmeo"
		refuses(t, "typo", to.pause(t.Context(), "true", surveytest.Now, &out), "did you mean demo?")
	}
}

// A dry run asks the API server to change nothing, and a change that somebody else has made is not written over.
func TestDryRunAndConflict(t *testing.T) {
	var dry []string
	c := surveytest.Client(objects()...).WithInterceptorFuncs(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
		options := (&client.PatchOptions{}).ApplyOptions(opts)
		raw, _ := patch.Data(obj)
		dry = append(dry, strings.Join(options.DryRun, "")+" "+string(raw))
		return c.Patch(ctx, obj, patch, opts...)
	}}).Build()
	to := of(t, c, true, "demo")
	to.dryRun = true
	var out bytes.Buffer
	refuses(t, "dry run", to.scale(t.Context(), 5, &out), "")
	if len(dry) != 1 || !strings.HasPrefix(dry[0], "All ") || !strings.Contains(out.String(), "would become 5") || *pool(t, c, "demo").Spec.Replicas != 2 {
		t.Errorf("%v, %s", dry, out.String())
	}
	to.dryRun = false
	read := pool(t, c, "demo")
	changed := read.DeepCopy()
	changed.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: 1, Max: 2}
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	refuses(t, "conflict", to.patch(t.Context(), read, map[string]any{"replicas": 9}), "changed by somebody else")
}

// moving is a hosted cluster on its way to 4.22.1; moved is its API server, which is there.
func moving(hc *hyperv1.HostedCluster) {
	hc.Status.Version.History = append([]hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.22.1", Image: "new"}}, hc.Status.Version.History...)
}

func moved() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: contract.APIServer}}
	d.Spec.Template.Annotations = map[string]string{hyperv1.ReleaseImageAnnotation: "new"}
	return d
}

// TestUpgrade: where it may go and where not, and what is written.
func TestUpgrade(t *testing.T) {
	const repository = "quay.io/release:"
	for _, tc := range []struct {
		title, name, to, image string
		pool                   bool
		change                 func(hc *hyperv1.HostedCluster)
		beside                 []client.Object
		refusal, made          string
	}{
		{title: "to a version", to: "4.22.1", made: repository + "4.22.1"},
		{title: "to a version of several architectures", to: "4.22.9", made: repository + "4.22.9-multi"},
		{title: "to an image", image: "quay.io/other:4.22.1", made: "quay.io/other:4.22.1"},
		{title: "to what is not readable from here", image: "quay.io/other:none", made: "quay.io/other:none"},
		{title: "the same", to: "4.21.0", made: repository + "4.21.0"},
		{title: "no version", to: "newest", refusal: `--to "newest" is not a version`},
		{title: "half a version", to: "4.22", refusal: `is not a version such as 4.22.1; did you mean 4.22.0?`},
		{title: "a version by another name", to: "v4.22.1", refusal: `is not a version such as 4.22.1; did you mean 4.22.1?`},
		{title: "nothing there", to: "none", refusal: "is not a version"},
		{title: "back over a minor version", to: "4.20.3", refusal: "a minor version cannot be taken back"},
		{title: "back, before the API server has moved", to: "4.21.0", change: moving, made: repository + "4.21.0"},
		{title: "back, after the API server has moved", to: "4.21.0", change: moving, beside: []client.Object{moved()}, refusal: "4.21.0 is older than 4.22.1, which runs"},
		{title: "out of range", to: "5.9.0", refusal: "is not supported"},
		{title: "nodes too old", to: "4.23.0", refusal: "NodePool old runs 4.19.0, which would be 4 minor versions behind"},
		{title: "not upgradeable", to: "4.22.1", change: notUpgradeable, refusal: "says that it is not upgradeable to another minor version: an operator says no"},
		{title: "not upgradeable, a patch", to: "4.21.7", change: notUpgradeable, made: repository + "4.21.7"},
		{title: "not upgradeable, forced", to: "4.22.1", change: func(hc *hyperv1.HostedCluster) {
			notUpgradeable(hc)
			hc.Annotations = map[string]string{hyperv1.ForceUpgradeToAnnotation: repository + "4.22.1"}
		}, made: repository + "4.22.1"},
		{title: "a pool behind", name: "old", pool: true, to: "4.21.0", made: repository + "4.21.0"},
		{title: "a pool before its cluster", name: "old", pool: true, to: "4.22.0", refusal: "cannot be higher than version 4.21.0"},
		{title: "a pool back", name: "demo", pool: true, to: "4.20.0", refusal: "cannot be taken back"},
		{title: "nobody", name: "dmeo", to: "4.22.1", refusal: "did you mean demo?"},
		{title: "no image", image: "a b", refusal: "--release-image"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			all := append(objects(), tc.beside...)
			if tc.change != nil {
				tc.change(all[0].(*hyperv1.HostedCluster))
			}
			c := surveytest.Client(all...).Build()
			name := tc.name
			if name == "" {
				name = "demo"
			}
			u := &upgrade{target: *of(t, c, tc.pool, name), to: tc.to, image: tc.image, releases: tags{}}
			var out bytes.Buffer
			refuses(t, tc.title, u.run(t.Context(), &out), tc.refusal)
			got, want := cluster(t, c).Spec.Release.Image, tc.made
			if tc.pool {
				got = pool(t, c, name).Spec.Release.Image
			}
			if want == "" {
				want = repository + "4.21.0"
			}
			if got != want {
				t.Errorf("the image is %s, want %s", got, want)
			}
			if tc.title == "to a version" && out.String() != "HostedCluster clusters/demo: 4.21.0 → 4.22.1, quay.io/release:4.22.1\n"+
				"NodePool demo stays at 4.21.0; then: hypershift upgrade nodepool demo --namespace clusters --release-image quay.io/release:4.22.1\n"+
				"NodePool old stays at 4.19.0; then: hypershift upgrade nodepool old --namespace clusters --release-image quay.io/release:4.22.1\n" {
				t.Errorf("the path is\n%s", out.String())
			}
		})
	}
}

func notUpgradeable(hc *hyperv1.HostedCluster) {
	surveytest.Says(hc, hyperv1.ClusterVersionUpgradeable, metav1.ConditionFalse, "X", "an operator says no")
}

// TestUpgradeIsTold: a rollout is over when the operator has seen the image and nothing moves any more.
func TestUpgradeIsTold(t *testing.T) {
	hc := surveytest.Cluster("demo", func(hc *hyperv1.HostedCluster) {
		hc.Status.Version.History[0].Image, hc.Spec.Release.Image = "i:1", "i:2"
	})
	told := func(obj client.Object) string {
		state, ok, err := upgraded(obj, "")
		if err != nil {
			return "failed: " + err.Error()
		}
		return map[bool]string{true: "done: ", false: ""}[ok] + state
	}
	var got []string
	hc.Generation = 2
	got = append(got, told(hc))
	for i := range hc.Status.Conditions {
		hc.Status.Conditions[i].ObservedGeneration = 2
	}
	got = append(got, told(hc))
	hc.Status.Version.History = append([]hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "2.0.0", Image: "i:2"}}, hc.Status.Version.History...)
	got = append(got, told(hc))
	hc.Status.Version.History[0].State = hyperv1.CompletedUpdate
	got = append(got, told(hc))
	surveytest.Says(hc, hyperv1.ValidReleaseImage, metav1.ConditionFalse, "X", "no such image")
	hc.Generation = 0
	got = append(got, told(hc))
	np := surveytest.Pool("demo", "demo", 2, func(np *hyperv1.NodePool) {
		surveytest.PoolSays(np, hyperv1.NodePoolUpdatingVersion, corev1.ConditionFalse, "X", "")
		np.Generation = 2
	})
	got = append(got, told(np))
	np.Generation = 0
	got = append(got, told(np))
	np.Status.Replicas = 1
	got = append(got, told(np))
	surveytest.PoolSays(np, hyperv1.NodePoolUpdatingVersion, corev1.ConditionTrue, "X", "1 of 2 nodes")
	got = append(got, told(np))
	surveytest.PoolSays(np, hyperv1.NodePoolValidReleaseImage, corev1.ConditionFalse, "X", "no such image")
	got = append(got, told(np))
	want := []string{notLookedAt, "the rollout has not begun: ", "version 2.0.0 is being rolled out: ", "done: version 2.0.0 is rolled out",
		"failed: HostedCluster clusters/demo cannot use the release image: no such image", notLookedAt, "done: 2 nodes are available", "1 nodes are available",
		"1 nodes are available; 1 of 2 nodes", "failed: NodePool clusters/demo cannot use the release image: no such image"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWaitFor: goals that are reached, that are not, and that nobody knows.
func TestWaitFor(t *testing.T) {
	all := objects()
	surveytest.Says(all[0].(*hyperv1.HostedCluster), hyperv1.ReconciliationActive, metav1.ConditionFalse, "ReconciliationPaused", "Paused")
	all[2].(*hyperv1.NodePool).Status.Replicas = 0
	c := surveytest.Client(all...).Build()
	for _, tc := range []struct {
		pool           bool
		name, goal     string
		refusal, words string
	}{
		{false, "demo", "available", "", "HostedCluster clusters/demo is available\n"},
		{false, "demo", "condition=Available", "", "is Available\n"},
		{false, "demo", "condition=ReconciliationActive=False", "", "is ReconciliationActive=False\n"},
		{false, "demo", "condition=ReconciliationActive", "has not come after 5ms (ReconciliationActive is False: Paused)", ""},
		{false, "demo", "condition=EtcdRestoredInPlace", "(EtcdRestoredInPlace is Unknown: nobody tells it yet)", ""},
		{false, "demo", "deleted", "nobody has asked to delete it yet", ""},
		{false, "gone", "deleted", "", "is deleted"},
		{false, "demo", "availabel", "did you mean available?", ""},
		{false, "dmeo", "available", "did you mean demo?", ""},
		{true, "demo", "ready", "", "NodePool clusters/demo is ready\n"},
		{true, "old", "ready", "(0 nodes are available)", ""},
		{true, "demo", "condition=", "--for", ""},
		{true, "demo", "available", "--for", ""},
	} {
		to, goals := of(t, c, tc.pool, tc.name), clusterGoals
		if tc.pool {
			goals = poolGoals
		}
		if strings.Contains(tc.refusal, "(") || tc.goal == "deleted" {
			to.timeout = 5 * time.Millisecond // --timeout
		}
		var out bytes.Buffer
		refuses(t, tc.goal, to.waitFor(t.Context(), tc.goal, goals, &out), tc.refusal)
		if !strings.Contains(out.String(), tc.words) {
			t.Errorf("%s: %q", tc.goal, out.String())
		}
	}
}

// A person who waits is told each change once.
func TestUntilTellsChanges(t *testing.T) {
	c := surveytest.Client(objects()...).Build()
	to := of(t, c, true, "demo")
	var said []string
	to.say = func(format string, args ...any) { said = append(said, args[0].(string)) }
	states := []string{"one", "one", "two"}
	turn := 0
	err := to.until(t.Context(), "x", false, func(context.Context, client.Object) (string, bool, error) {
		turn++
		return states[turn-1], turn == len(states), nil
	})
	if err != nil || strings.Join(said, " ") != "one two" {
		t.Errorf("%v, %v", said, err)
	}
}
