package controlplane

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/restoration"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// sized plays the controllers of workloads: as many pods as are wanted, all of them ready.
func (f *fixture) sized() {
	f.Helper()
	server, set := &appsv1.Deployment{}, &appsv1.StatefulSet{}
	f.get(server, contract.APIServer)
	f.get(set, contract.Etcd)
	n := ptr.Deref(server.Spec.Replicas, 1)
	server.Status = appsv1.DeploymentStatus{ObservedGeneration: server.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
	n = ptr.Deref(set.Spec.Replicas, 1)
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	if err := f.client.Status().Update(context.Background(), server); err != nil {
		f.Fatal(err)
	}
	if err := f.client.Status().Update(context.Background(), set); err != nil {
		f.Fatal(err)
	}
}

// wanted compares the numbers of pods that etcd, the API server, and what follows it are to have.
func (f *fixture) wanted(when string, etcd, server, follower int32) {
	f.Helper()
	s := &appsv1.StatefulSet{}
	f.get(s, contract.Etcd)
	if *s.Spec.Replicas != etcd {
		f.Errorf("%s: %d pods of etcd, want %d", when, *s.Spec.Replicas, etcd)
	}
	for name, want := range map[string]int32{contract.APIServer: server, "kube-scheduler": follower, contract.ConfigOperator: follower, contract.IgnitionServer: 1} {
		d := &appsv1.Deployment{}
		f.get(d, name)
		if *d.Spec.Replicas != want {
			f.Errorf("%s: %d pods of %s, want %d", when, *d.Spec.Replicas, name, want)
		}
	}
}

// collectGarbage ends the deletion of the API server's Deployment, which leaves its pods and is made anew: it ends at once.
func (f *fixture) collectGarbage() {
	f.Helper()
	d := &appsv1.Deployment{}
	f.get(d, contract.APIServer)
	if d.DeletionTimestamp.IsZero() {
		f.Error("the API server may take minutes to end")
	}
	d.Finalizers = nil
	if err := f.client.Update(context.Background(), d); err != nil {
		f.Fatal(err)
	}
}

// request asks for a restore, as the command line does.
func (f *fixture) request(id string) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRestore, Namespace: f.hcp.Namespace}, Data: map[string][]byte{
		contract.EtcdRestoreURL: []byte("https://a.blob.core.windows.net/b?sig=x"), contract.EtcdRestoreID: []byte(id), contract.EtcdRestoreBackup: []byte("monday")}}
	if err := f.client.Delete(context.Background(), secret.DeepCopy()); err != nil && id != "one" {
		f.Fatal(err)
	}
	f.create(secret)
}

// TestRestoreInPlace: no member of etcd and no reader of it runs between the former data and the backup's, also where the operator
// begins anew between two passes; the second request is served as the first one is.
func TestRestoreInPlace(t *testing.T) {
	f := newFixture(t)
	f.hcp = inNamespace("restoration")
	f.begin()
	f.pass()
	lb := &corev1.Service{}
	f.get(lb, publish.APIServerLoadBalancer)
	lb.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.16.3"}}
	if err := f.client.Status().Update(context.Background(), lb); err != nil {
		t.Fatal(err)
	}
	f.etcdRuns()
	f.pass()
	f.roll()
	f.pass()
	f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	if kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdRestoredInPlace) != nil {
		t.Error("a restore is told of that nobody asked for")
	}

	var former int64
	for _, id := range []string{"one", "two"} {
		f.request(id)
		f.pass()
		f.collectGarbage()
		for range 2 {
			f.pass()
			f.wanted("while they end", 0, 0, 0)
		}
		f.condition(hyperv1.EtcdRestoredInPlace, metav1.ConditionFalse, hyperv1.EtcdRestoringReason)
		f.condition(hyperv1.KubeAPIServerAvailable, metav1.ConditionFalse, hyperv1.WaitingForAvailableReason)
		f.checkRestorer()

		f.sized()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ending", Namespace: f.hcp.Namespace, Labels: map[string]string{"app": contract.APIServer}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
		f.create(pod)
		f.pass()
		f.wanted("while a pod of the API server is ending", 0, 0, 0)
		if err := f.client.Delete(context.Background(), pod); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f.pass()
			f.wanted("while the data come", 1, 0, 0)
		}
		f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason)

		f.lead("kube-scheduler-1_a", "kube-scheduler")
		f.lead("operator-of-a-user_a", "kept")
		f.sized()
		serves := f.reconciler.Guest
		f.reconciler.Guest = func([]byte) (client.Client, error) { return nil, errors.New("it does not serve yet") }
		if _, err := f.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f.hcp)}); err != nil && !strings.Contains(err.Error(), "it does not serve yet") {
			t.Fatal(err)
		}
		f.wanted("while the API server starts", 1, 1, 0)
		f.sized()
		f.reconciler.Guest = serves
		f.pass()
		f.pass()
		f.wanted("afterwards", 1, 1, 1)
		leases := &coordinationv1.LeaseList{}
		if err := f.client.List(context.Background(), leases, client.InNamespace(f.hcp.Namespace)); err != nil || len(leases.Items) != 1 || leases.Items[0].Name != "kept" {
			t.Errorf("leases %+v, %v", leases.Items, err)
		}
		f.condition(hyperv1.EtcdRestoredInPlace, metav1.ConditionTrue, hyperv1.AsExpectedReason)
		if c := kube.Find(f.hcp.Status.Conditions, hyperv1.EtcdRestoredInPlace); !strings.Contains(c.Message, "monday") {
			t.Errorf("the condition says %q", c.Message)
		}
		f.sized()
		f.pass()
		f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
		secret := &corev1.Secret{}
		f.get(secret, contract.EtcdRestore)
		if revision, err := strconv.ParseInt(string(secret.Data[contract.EtcdRestoreRevision]), 10, 64); err != nil || revision <= former {
			t.Errorf("etcd begins at revision %d, and the one before began at %d: %v", revision, former, err)
		} else {
			former = revision
		}
		if len(secret.Data[contract.EtcdRestoreURL]) > 0 || string(secret.Data[contract.EtcdRestoreID]) != id {
			t.Errorf("the signed address stays: %v", slices.Sorted(maps.Keys(secret.Data)))
		}
	}
}

// lead has somebody hold a lease in the guest.
func (f *fixture) lead(holder, name string) {
	f.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.hcp.Namespace}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	if err := f.client.Create(context.Background(), lease); err != nil && !apierrors.IsAlreadyExists(err) {
		f.Fatal(err)
	}
}

// checkRestorer looks for the init container that takes the request.
func (f *fixture) checkRestorer() {
	f.Helper()
	set := &appsv1.StatefulSet{}
	f.get(set, contract.Etcd)
	inits := set.Spec.Template.Spec.InitContainers
	at := slices.IndexFunc(inits, func(c corev1.Container) bool { return c.Name == restoration.ContainerName })
	if at < 0 || !slices.Contains(inits[at].Command, "--id-file=/etc/etcd/restore/id") || !slices.Contains(inits[at].Command, "--url-file=/etc/etcd/restore/url") ||
		!slices.Contains(inits[at].Command, "--revision-file=/etc/etcd/restore/revision") {
		f.Errorf("init containers %+v", inits)
	}
}
