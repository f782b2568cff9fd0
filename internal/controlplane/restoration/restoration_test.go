package restoration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	namespace = "clusters-demo"
	signed    = "https://store.example/backups/demo.db?sig=secret"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// asked is the request of somebody, in one of its phases.
func asked(phase string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRestore, Namespace: namespace}, Data: map[string][]byte{
		contract.EtcdRestoreURL: []byte(signed), contract.EtcdRestoreID: []byte("one"), contract.EtcdRestoreBackup: []byte("monday")}}
	if phase != "" {
		secret.Annotations = map[string]string{contract.EtcdRestorePhase: phase}
	}
	return secret
}

// etcd has so many members wanted, updated and ready, and has seen what is wanted of it unless behind.
func etcd(wanted, updated, ready int32, behind bool) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: contract.Etcd, Namespace: namespace, Generation: 2},
		Spec:   appsv1.StatefulSetSpec{Replicas: ptr.To(wanted)},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: updated, UpdatedReplicas: updated, ReadyReplicas: ready}}
	if behind {
		set.Status.ObservedGeneration = 1
	}
	return set
}

func deployment(name string, wanted, present int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Generation: 1},
		Spec:   appsv1.DeploymentSpec{Replicas: ptr.To(wanted)},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: present}}
}

func pod(app, of string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: app + "-1", Namespace: of, Labels: map[string]string{component.LabelApp: app}}}
}

func restorationOf(c client.Client) *Restoration {
	return &Restoration{Writer: component.Writer{Client: c, HCP: planetest.Plane()}, Now: func() time.Time { return now }}
}

func told(r *Restoration) *metav1.Condition {
	r.Tell(kube.Conditions(&r.HCP.Status.Conditions, 1))
	return kube.Find(r.HCP.Status.Conditions, hyperv1.EtcdRestoredInPlace)
}

func request(t *testing.T, c client.Client) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: contract.EtcdRestore}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestPhases has a row for what a pass finds: how far the restore is afterwards, and what the condition says. "-" is no phase.
func TestPhases(t *testing.T) {
	refilling, serving, done := contract.EtcdRestoreRefilling, contract.EtcdRestoreServing, contract.EtcdRestoreDone
	for name, c := range map[string]struct {
		phase   string
		objects []client.Object
		want    string
		says    string
	}{
		"all run":                      {"", []client.Object{etcd(3, 3, 3, false), deployment(contract.APIServer, 2, 2)}, "-", "these end: etcd, kube-apiserver"},
		"a reader of OpenShift runs":   {"", []client.Object{deployment(contract.OAuthAPIServer, 1, 1)}, "-", contract.OAuthAPIServer},
		"scaled to none, not seen yet": {"", []client.Object{etcd(0, 0, 0, true)}, "-", "these end: etcd"},
		"scaled to none, pods left":    {"", []client.Object{etcd(0, 1, 0, false)}, "-", "these end: etcd"},
		"a pod of a server is ending":  {"", []client.Object{etcd(0, 0, 0, false), pod(contract.APIServer, namespace)}, "-", "these end: kube-apiserver"},
		"a member without its set":     {"", []client.Object{pod(contract.Etcd, namespace)}, "-", "these end: etcd"},
		"another namespace's server":   {"", []client.Object{pod(contract.APIServer, "clusters-other")}, refilling, "waits for its data"},
		"nothing runs": {"", []client.Object{etcd(0, 0, 0, false), deployment(contract.APIServer, 0, 0)},
			refilling, "waits for its data from backup monday"},
		"not every member has its data":  {refilling, []client.Object{etcd(3, 3, 2, false)}, refilling, "restore-in-place"},
		"ready with the former template": {refilling, []client.Object{etcd(3, 2, 3, false)}, refilling, "waits for its data"},
		"ready before what is wanted":    {refilling, []client.Object{etcd(3, 3, 3, true)}, refilling, "waits for its data"},
		"no member is wanted yet":        {refilling, []client.Object{etcd(0, 0, 0, false)}, refilling, "waits for its data"},
		"the set is gone":                {refilling, nil, refilling, "waits for its data"},
		"every member has its data":      {refilling, []client.Object{etcd(3, 3, 3, false)}, serving, "the API server starts"},
		"the API server starts":          {serving, []client.Object{etcd(3, 3, 3, false), deployment(contract.APIServer, 2, 2)}, serving, "the API server starts"},
		"done": {done, []client.Object{etcd(3, 3, 3, false), deployment(contract.APIServer, 2, 2)},
			done, "etcd went back to backup monday"},
		"done, while etcd is not well":    {done, []client.Object{etcd(3, 3, 1, false)}, done, "etcd went back to backup monday"},
		"one member has its data already": {refilling, []client.Object{etcd(1, 1, 1, false)}, serving, "the API server starts"},
	} {
		t.Run(name, func(t *testing.T) {
			fakes := fake.NewClientBuilder().WithObjects(append(c.objects, asked(c.phase))...).Build()
			r := restorationOf(fakes)
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			secret := request(t, fakes)
			if got := secret.Annotations[contract.EtcdRestorePhase]; got != strings.Trim(c.want, "-") || got != r.phase {
				t.Errorf("phase %q, in memory %q, want %q", got, r.phase, c.want)
			}
			want := metav1.ConditionFalse
			if c.want == done {
				want = metav1.ConditionTrue
			}
			if got := told(r); got == nil || got.Status != want || !strings.Contains(got.Message, c.says) || strings.Contains(got.Message, "secret") {
				t.Errorf("%+v does not say %q", got, c.says)
			}
			if string(secret.Data[contract.EtcdRestoreID]) != "one" {
				t.Error("the request lost its id")
			}
			if has, want := len(secret.Data[contract.EtcdRestoreURL]) > 0, c.phase != refilling || c.want != serving; has != want {
				t.Errorf("the signed address is there: %t", has)
			}
			if got, want := string(secret.Data[contract.EtcdRestoreRevision]), "1767268800000000"; c.phase == "" && c.want == refilling && got != want {
				t.Errorf("etcd begins at revision %q, want %s", got, want)
			}
		})
	}
}

// TestHeld is who has no pods in each phase: nobody reads or writes etcd between the former data and the backup's, and what leads machines to the
// control plane keeps its way all the time.
func TestHeld(t *testing.T) {
	for phase, held := range map[string][4]bool{ // etcd, its readers, what follows them, who knows nothing of etcd
		"":                            {true, true, true, false},
		contract.EtcdRestoreRefilling: {false, true, true, false},
		contract.EtcdRestoreServing:   {false, false, true, false},
		contract.EtcdRestoreDone:      {false, false, false, false},
	} {
		r := restorationOf(fake.NewClientBuilder().WithObjects(asked(phase), etcd(3, 3, 1, false)).Build())
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, names := range [][]string{
			{contract.Etcd}, {contract.APIServer, contract.OpenShiftAPIServer, contract.OAuthAPIServer},
			{contract.Scheduler, contract.ControllerManager, contract.ConfigOperator, contract.ClusterAutoscaler},
			{contract.IgnitionServer, publish.IgnitionProxyService, publish.RouterService},
		} {
			for _, name := range names {
				c := r.Hold(component.Component{Name: name})
				if r.Holds(name) != held[i] || (c.Idle != nil && c.Idle(r.HCP)) != held[i] {
					t.Errorf("phase %q: %s is held: %t", phase, name, r.Holds(name))
				}
				available := metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason}
				got := r.Correct(component.Result{Name: name, Available: available}).Available
				if (got.Status == metav1.ConditionFalse && got.Reason == hyperv1.EtcdRestoringReason && got.Message != "") != held[i] {
					t.Errorf("phase %q: %s, without pods, is told as %+v", phase, name, got)
				}
				if got := r.Correct(component.Result{Name: name, Absent: true, Available: available}).Available; got != available {
					t.Errorf("phase %q: %s, which there is not, is told as %+v", phase, name, got)
				}
			}
		}
		if r.Serving() != (phase == contract.EtcdRestoreServing) {
			t.Errorf("phase %q: serving %t", phase, r.Serving())
		}
	}
}

// TestServersEndAtOnce: the Deployment of a reader goes with its pods, so that clients learn nothing more of what is lost. etcd and everybody else
// end as their controllers have them end, and a reader that ends already is left to it.
func TestServersEndAtOnce(t *testing.T) {
	other := pod(contract.Scheduler, namespace)
	c := fake.NewClientBuilder().WithObjects(asked(""), etcd(3, 3, 3, false), pod(contract.Etcd, namespace), other,
		deployment(contract.APIServer, 2, 2), pod(contract.APIServer, namespace),
		deployment(contract.OpenShiftAPIServer, 0, 1), deployment(contract.Scheduler, 1, 1)).Build()
	if err := restorationOf(c).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for obj, stays := range map[client.Object]bool{
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: contract.APIServer}}:          false,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: contract.APIServer + "-1"}}:          false,
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: contract.Etcd}}:              true,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: contract.Etcd + "-1"}}:               true,
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: contract.OpenShiftAPIServer}}: true,
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: contract.Scheduler}}:          true,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: other.Name}}:                         true,
	} {
		name := obj.GetName()
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj); (err == nil) != stays {
			t.Errorf("%T %s: %v", obj, name, err)
		}
	}
}

// TestNobodyAsks: without a request, and with one for an etcd of the user's, nothing is held and nothing is told, whatever was told before.
func TestNobodyAsks(t *testing.T) {
	r := restorationOf(fake.NewClientBuilder().WithObjects(asked(contract.EtcdRestoreRefilling)).Build())
	if err := r.Run(t.Context()); err != nil || !r.Holds(contract.APIServer) {
		t.Fatalf("%v, held %t", err, r.Holds(contract.APIServer))
	}
	if told(r) == nil {
		t.Fatal("nothing is told of a restore")
	}
	for name, change := range map[string]func(){
		"the request is deleted": func() { r.Client = fake.NewClientBuilder().Build() },
		"an etcd of the user's": func() {
			r.Client, r.HCP.Spec.Etcd.ManagementType = fake.NewClientBuilder().WithObjects(asked("")).Build(), hyperv1.Unmanaged
		},
	} {
		change()
		if err := r.Run(t.Context()); err != nil || r.Holds(contract.Etcd) || r.Holds(contract.APIServer) || r.Serving() || told(r) != nil {
			t.Errorf("%s: %v, %+v", name, err, told(r))
		}
	}
}

// TestUselessRequest: a Secret that leads to no backup stops nobody, and does not pass for a restore.
func TestUselessRequest(t *testing.T) {
	for lacking, data := range map[string]map[string][]byte{
		"nothing in it":         nil,
		contract.EtcdRestoreURL: {contract.EtcdRestoreID: []byte("one"), contract.EtcdRestoreURL: {}},
		contract.EtcdRestoreID:  {contract.EtcdRestoreURL: []byte(signed)},
	} {
		secret := asked("")
		secret.Data = data
		c := fake.NewClientBuilder().WithObjects(secret, deployment(contract.APIServer, 2, 2)).Build()
		r := restorationOf(c)
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := told(r)
		if got == nil || got.Status != metav1.ConditionFalse || got.Reason != hyperv1.InvalidConfigurationReason ||
			data != nil && !strings.Contains(got.Message, "lacks "+lacking) {
			t.Errorf("%s: %+v", lacking, got)
		}
		if r.Holds(contract.Etcd) || r.Holds(contract.APIServer) || request(t, c).Annotations != nil {
			t.Errorf("%s: something ends for it", lacking)
		}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: contract.APIServer}, &appsv1.Deployment{}); err != nil {
			t.Errorf("%s: %v", lacking, err)
		}
	}
}

// TestRequestIsReplacedMeanwhile: a phase is never noted on another request than the one that was looked at.
func TestRequestIsReplacedMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"another request": {apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, contract.EtcdRestore, errors.New("changed")), component.ErrBehind},
		"no answer":       {errors.New("etcdserver: request timed out"), nil},
	} {
		fakes := fake.NewClientBuilder().WithObjects(asked("")).WithInterceptorFuncs(interceptor.Funcs{
			Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return c.err },
		}).Build()
		err := restorationOf(fakes).Run(t.Context())
		if err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && !strings.Contains(err.Error(), "note on Secret etcd-restore") {
			t.Errorf("%s: %v", name, err)
		}
		if phase := request(t, fakes).Annotations[contract.EtcdRestorePhase]; phase != "" {
			t.Errorf("%s: phase %s", name, phase)
		}
	}
}

// TestServed ends a request for good: the next pass looks at nothing.
func TestServed(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(asked(contract.EtcdRestoreServing)).Build()
	r := restorationOf(c)
	if err := errors.Join(r.Run(t.Context()), r.Served(t.Context()), r.Run(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := told(r); got.Status != metav1.ConditionTrue || request(t, c).Annotations[contract.EtcdRestorePhase] != contract.EtcdRestoreDone {
		t.Errorf("%+v", got)
	}
}

// TestUnreadable: what cannot be read is no answer: nobody is let go because of it.
func TestUnreadable(t *testing.T) {
	for _, kind := range []string{"*v1.Secret", "*v1.StatefulSet", "*v1.Deployment", "*v1.PodList"} {
		c := fake.NewClientBuilder().WithObjects(asked("")).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
				if fmt.Sprintf("%T", obj) == kind {
					return errors.New("no answer")
				}
				return c.Get(ctx, key, obj, o...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == kind {
					return errors.New("no answer")
				}
				return c.List(ctx, list, o...)
			},
		}).Build()
		if err := restorationOf(c).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestForgetLeaders: the leases of components are deleted, in every namespace, also where one of them cannot be; those of others stay.
func TestForgetLeaders(t *testing.T) {
	lease := func(namespace, name string, holder *string) client.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: holder}}
	}
	c := fake.NewClientBuilder().WithObjects(
		lease("kube-system", "kube-scheduler", ptr.To("kube-scheduler-6d8f-x_1")), lease("openshift-machine-approver", "approver", ptr.To("machine-approver-1_2")),
		lease("kube-system", "bare", ptr.To("kube-scheduler")), lease("kube-system", "longer", ptr.To("kube-scheduler2-1")),
		lease("a", "users", ptr.To("my-kube-scheduler-1")),
		lease("a", "nobody", nil), lease("a", "given up", ptr.To("")), lease("kube-node-lease", "node", ptr.To("demo-node-1"))).
		WithInterceptorFuncs(interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if obj.GetName() == "approver" {
				return errors.New("no answer")
			}
			return c.Delete(ctx, obj, o...)
		}}).Build()
	if err := ForgetLeaders(t.Context(), c, []string{"machine-approver", contract.Scheduler}); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("a lease that cannot be deleted: %v", err)
	}
	left := &coordinationv1.LeaseList{}
	if err := c.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	for _, l := range left.Items {
		if l.Name == "kube-scheduler" {
			t.Error("the scheduler waits for one that is gone")
		}
	}
	if len(left.Items) != 7 {
		t.Errorf("%d leases are left, of eight one is gone", len(left.Items))
	}
}
