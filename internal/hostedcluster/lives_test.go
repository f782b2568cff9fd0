package hostedcluster

import (
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

const (
	// The short tier's part of this test; -rapid.checks asks for more.
	shortChecks  = "3"
	unlimited    = 1 << 40
	lifePatience = time.Minute
	restPeriod   = 700 * time.Millisecond
	badLabel     = "not a label"
)

// life is one hosted cluster of a random sequence, and what its user did last.
type life struct {
	*world
	namespace, name string
	labels          int
	secrets         map[string]map[string][]byte
}

// TestLivesOfClusters does random things to hosted clusters in random order, legal and illegal ones, while the operator crashes and
// comes back. In the end, whatever is wrong put right, every cluster converges, and every deleted one is gone without a trace.
func TestLivesOfClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for half a minute")
	}
	setUnlessGiven(t, "rapid.checks", shortChecks)
	setUnlessGiven(t, "rapid.nofailfile", "true")
	w := newWorld(t, "lives")
	releases := []string{w.image, releasetest.Serve(t, "4.21.1")}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		lives := []*life{w.newLife(t, fmt.Sprintf("lives%d", round), "a"), w.newLife(t, fmt.Sprintf("lives%d", round), "b")}
		w.start(t, unlimited)
		for _, one := range lives {
			one.create(r, nil)
		}
		for _, action := range rapid.SliceOfN(rapid.SampledFrom(actions), 6, 14).Draw(r, "actions") {
			action.do(lives[rapid.IntRange(0, 1).Draw(r, "cluster")], r, releases)
		}
		w.start(t, unlimited)
		if rapid.Bool().Draw(r, "settle") {
			// What is wrong is seen and lived with before it is put right.
			w.checkRest(r)
		}
		for _, one := range lives {
			one.heal(r)
		}
		for _, one := range lives {
			one.checkEnd(r)
		}
		w.checkRest(r)
		for _, one := range lives {
			one.checkDeleted(r)
		}
		w.crash(t)
	})
}

// setUnlessGiven chooses a value for a flag that the command line leaves open.
func setUnlessGiven(t *testing.T, name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

func (w *world) newLife(t *testing.T, namespace, name string) *life {
	w.createShared(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	one := &life{world: w, namespace: namespace, name: name, secrets: map[string]map[string][]byte{
		name + "-pull-secret": {hyperv1.PullSecretKey: []byte(`{"auths":{}}`)},
		name + "-ssh":         {hyperv1.SSHPublicKeyKey: []byte("ssh-ed25519 AAAA")},
		name + "-key":         w.madeSecret().Data,
		// Of the same name as a Secret that the control plane makes for itself.
		"etcd-client-tls": {"webhook-kubeconfig": []byte("{}")},
	}}
	for secret := range one.secrets {
		one.writeSecret(t, secret)
	}
	return one
}

// tb is what both kinds of T have.
type tb interface {
	Fatalf(format string, args ...any)
	Helper()
}

func (l *life) writeSecret(t tb, name string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	err := l.client.Get(l.ctx, client.ObjectKeyFromObject(secret), secret)
	secret.Data = l.secrets[name]
	if apierrors.IsNotFound(err) {
		err = l.client.Create(l.ctx, secret)
	} else if err == nil {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if err := l.client.Get(l.ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
				return err
			}
			secret.Data = l.secrets[name]
			return l.client.Update(l.ctx, secret)
		})
	}
	if err != nil {
		t.Fatalf("write Secret %s: %v", name, err)
	}
}

// read returns the cluster, nil when there is none.
func (l *life) find() *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{}
	if err := l.client.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: l.name}, hc); err != nil {
		return nil
	}
	return hc
}

// edit changes the cluster, where there is one that is not on its way out.
func (l *life) edit(change func(*hyperv1.HostedCluster)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		hc := l.find()
		if hc == nil || !hc.DeletionTimestamp.IsZero() {
			return nil
		}
		change(hc)
		return client.IgnoreNotFound(l.client.Update(l.ctx, hc))
	})
}

func (l *life) mustEdit(t tb, change func(*hyperv1.HostedCluster)) {
	t.Helper()
	if err := l.edit(change); err != nil {
		t.Fatalf("edit %s/%s: %v", l.namespace, l.name, err)
	}
}

type action struct {
	name string
	do   func(*life, *rapid.T, []string)
}

func (a action) String() string { return a.name }

func editing(change func(*life, *hyperv1.HostedCluster)) func(*life, *rapid.T, []string) {
	return func(l *life, t *rapid.T, _ []string) {
		l.mustEdit(t, func(hc *hyperv1.HostedCluster) { change(l, hc) })
	}
}

var pausing = editing(func(_ *life, hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To("true") })

// actions of the user, and of fate; those that the generator prefers come first.
var actions = []action{
	{"pause, seen", func(l *life, t *rapid.T, releases []string) {
		pausing(l, t, releases)
		time.Sleep(restPeriod)
	}},
	{"crash soon", func(l *life, t *rapid.T, _ []string) { l.left.Store(rapid.Int64Range(0, 60).Draw(t, "writes")) }},
	{"delete", (*life).delete},
	{"create", (*life).create},
	{"clash", editing(func(l *life, hc *hyperv1.HostedCluster) {
		hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "etcd-client-tls"}
	})},
	{"operator comes back", func(l *life, t *rapid.T, _ []string) {
		l.crash(l.t)
		l.start(l.t, unlimited)
	}},
	{"lose pull secret", losing("-pull-secret")},
	{"resume", editing(func(l *life, hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = nil })},
	{"label", editing(func(l *life, hc *hyperv1.HostedCluster) {
		l.labels++
		hc.Spec.Labels = map[string]string{"edit": fmt.Sprint(l.labels)}
	})},
	{"restart", editing(func(l *life, hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.RestartDateAnnotation, "today")
	})},
	{"forget restart", editing(func(l *life, hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.RestartDateAnnotation) })},
	{"pause", pausing},
	{"name SSH key", editing(func(l *life, hc *hyperv1.HostedCluster) { hc.Spec.SSHKey.Name = l.name + "-ssh" })},
	{"drop SSH key", editing(func(l *life, hc *hyperv1.HostedCluster) { hc.Spec.SSHKey.Name = "" })},
	{"bad label", editing(func(l *life, hc *hyperv1.HostedCluster) { hc.Spec.Labels = map[string]string{badLabel: "x"} })},
	{"upgrade", func(l *life, t *rapid.T, releases []string) {
		image := rapid.SampledFrom(releases).Draw(t, "release")
		l.mustEdit(t, func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = image })
	}},
	{"change what cannot change", func(l *life, t *rapid.T, _ []string) {
		if l.find() == nil || !l.find().DeletionTimestamp.IsZero() {
			return
		}
		if err := l.edit(func(hc *hyperv1.HostedCluster) { hc.Spec.Services[0].ServicePublishingStrategy.Type = hyperv1.Route }); err == nil && l.find() != nil && l.find().DeletionTimestamp.IsZero() {
			t.Fatalf("the API server accepts another publishing strategy")
		}
	}},
	{"edit pull secret", func(l *life, t *rapid.T, _ []string) {
		l.secrets[l.name+"-pull-secret"] = map[string][]byte{hyperv1.PullSecretKey: []byte(fmt.Sprintf(`{"auths":{"r%d.test":{"auth":"YTpi"}}}`, rapid.IntRange(0, 99).Draw(t, "registry")))}
		l.writeSecret(t, l.name+"-pull-secret")
	}},
	{"lose SSH key", losing("-ssh")},
	{"break signing key", func(l *life, t *rapid.T, _ []string) {
		good := l.secrets[l.name+"-key"]
		l.secrets[l.name+"-key"] = map[string][]byte{"key": []byte("nonsense")}
		l.writeSecret(t, l.name+"-key")
		l.secrets[l.name+"-key"] = good
	}},
	{"add node pool", (*life).addPool},
	{"wait", func(_ *life, t *rapid.T, _ []string) {
		time.Sleep(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
	}},
}

func losing(suffix string) func(*life, *rapid.T, []string) {
	return func(l *life, t *rapid.T, _ []string) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name + suffix}}
		if err := client.IgnoreNotFound(l.client.Delete(l.ctx, secret)); err != nil {
			t.Fatalf("delete the user's Secret: %v", err)
		}
	}
}

func (l *life) create(t *rapid.T, _ []string) {
	hc := l.cluster()
	hc.Namespace, hc.Name = l.namespace, l.name
	hc.Spec.Platform.Azure.ResourceGroupName = l.namespace + "-" + l.name
	hc.Spec.PullSecret.Name = l.name + "-pull-secret"
	hc.Spec.ServiceAccountSigningKey.Name = l.name + "-key"
	if err := l.client.Create(l.ctx, hc); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create %s/%s: %v", l.namespace, l.name, err)
	}
}

func (l *life) delete(t *rapid.T, _ []string) {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: l.name}}
	if err := client.IgnoreNotFound(l.client.Delete(l.ctx, hc)); err != nil {
		t.Fatalf("delete %s/%s: %v", l.namespace, l.name, err)
	}
}

func (l *life) addPool(t *rapid.T, _ []string) {
	if hc := l.find(); hc == nil || !hc.DeletionTimestamp.IsZero() {
		return
	}
	pool := l.pool(l.namespace, l.name)
	if err := l.client.Create(l.ctx, pool); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create a node pool: %v", err)
	}
}

// heal puts right what the user did wrong.
func (l *life) heal(t *rapid.T) {
	for secret := range l.secrets {
		l.writeSecret(t, secret)
	}
	l.mustEdit(t, func(hc *hyperv1.HostedCluster) {
		hc.Spec.PausedUntil, hc.Spec.AuditWebhook = nil, nil
		delete(hc.Spec.Labels, badLabel)
	})
}

func (l *life) await(t *rapid.T, what string, problem func() string) {
	deadline := time.Now().Add(lifePatience)
	for last := problem(); last != ""; last = problem() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s %s/%s is not %s: %s", lifePatience, l.namespace, l.name, what, last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (l *life) checkEnd(t *rapid.T) {
	hc := l.find()
	if hc == nil {
		return
	}
	if !hc.DeletionTimestamp.IsZero() {
		l.await(t, "gone", func() string {
			return l.notGone()
		})
		return
	}
	l.await(t, "converged", l.notConverged)
}

// notGone says what the deletion waits for.
func (l *life) notGone() string {
	hc := l.find()
	if hc == nil {
		return ""
	}
	return fmt.Sprintf("finalizers %v, %+v, %+v", hc.Finalizers, meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterDestroyed),
		meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ReconciliationSucceeded))
}

// notConverged says what is not yet as the user wants it.
func (l *life) notConverged() string {
	hc, plane := l.find(), contract.ControlPlaneNamespace(l.namespace, l.name)
	succeeded := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ReconciliationSucceeded)
	if succeeded == nil || succeeded.Status != metav1.ConditionTrue || succeeded.ObservedGeneration != hc.Generation {
		return fmt.Sprintf("generation %d, ReconciliationSucceeded %+v", hc.Generation, succeeded)
	}
	for _, kind := range []string{hyperv1.HostedClusterAvailable, hyperv1.ValidHostedClusterConfiguration, hyperv1.ReconciliationActive, hyperv1.ValidReleaseImage} {
		if !meta.IsStatusConditionTrue(hc.Status.Conditions, kind) {
			return fmt.Sprintf("%s is %+v", kind, meta.FindStatusCondition(hc.Status.Conditions, kind))
		}
	}
	hcp := &hyperv1.HostedControlPlane{}
	if err := l.client.Get(l.ctx, client.ObjectKey{Namespace: plane, Name: l.name}, hcp); err != nil {
		return err.Error()
	}
	if hcp.Spec.PausedUntil != nil || hcp.Spec.ReleaseImage != hc.Spec.Release.Image || !equality.Semantic.DeepEqual(hcp.Spec.Labels, hc.Spec.Labels) ||
		hcp.Annotations[hyperv1.RestartDateAnnotation] != hc.Annotations[hyperv1.RestartDateAnnotation] || (hcp.Spec.SSHKey.Name != "") != (hc.Spec.SSHKey.Name != "") {
		return fmt.Sprintf("the HostedControlPlane does not follow: %v %+v", hcp.Annotations, hcp.Spec)
	}
	cluster := clusterapi.New(clusterapi.Cluster, plane, hc.Spec.InfraID)
	if err := l.client.Get(l.ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return err.Error()
	}
	if paused, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused"); paused {
		return "Cluster API is paused"
	}
	if problem := l.copyDiffers(plane, component.PullSecret, l.name+"-pull-secret", true); problem != "" {
		return problem
	}
	return l.copyDiffers(plane, contract.SSHKey, l.name+"-ssh", hc.Spec.SSHKey.Name != "")
}

func (l *life) copyDiffers(namespace, name, source string, wanted bool) string {
	made := &corev1.Secret{}
	err := l.client.Get(l.ctx, client.ObjectKey{Namespace: namespace, Name: name}, made)
	switch {
	case !wanted && apierrors.IsNotFound(err):
		return ""
	case err != nil || !wanted:
		return fmt.Sprintf("copy %s, wanted %t: %v", name, wanted, err)
	case !equality.Semantic.DeepEqual(made.Data, l.secrets[source]):
		return "copy " + name + " does not follow its source"
	}
	return ""
}

// checkRest: an operator with nothing to do writes nothing.
func (w *world) checkRest(t *rapid.T) {
	deadline := time.Now().Add(lifePatience)
	for before := w.writes.Load(); ; before = w.writes.Load() {
		time.Sleep(restPeriod)
		if w.writes.Load() == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s the operator still writes", lifePatience)
		}
	}
}

// checkDeleted deletes the cluster and looks everywhere for what is left of it. The user's objects are as he left them.
func (l *life) checkDeleted(t *rapid.T) {
	l.delete(t, nil)
	l.await(t, "deleted without a trace", func() string {
		if problem := l.notGone(); problem != "" {
			return problem
		}
		return strings.Join(l.leftovers(l.t, l.namespace+"/"+l.name, contract.ControlPlaneNamespace(l.namespace, l.name)), ", ")
	})
	for name, data := range maps.All(l.secrets) {
		secret := &corev1.Secret{}
		if err := l.client.Get(l.ctx, client.ObjectKey{Namespace: l.namespace, Name: name}, secret); err != nil {
			t.Fatalf("the user's Secret: %v", err)
		}
		marked := secret.Annotations[hyperv1.ReferencedResourcePrefix+"/"+l.name] != ""
		if !equality.Semantic.DeepEqual(secret.Data, data) || len(secret.OwnerReferences)+len(secret.Labels)+len(secret.Finalizers) > 0 || marked {
			t.Fatalf("the user's Secret was touched: %+v", secret.ObjectMeta)
		}
	}
}
