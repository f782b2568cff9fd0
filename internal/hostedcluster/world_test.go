package hostedcluster

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

const (
	clusterFinalizer = "cluster.cluster.x-k8s.io"
	playerPeriod     = 50 * time.Millisecond
)

var errCrashed = errors.New("the operator crashed")

// world is a management cluster where the operator runs with its caches and watches, next to Kubernetes' own controllers of
// namespaces and garbage. Hosted control planes, Cluster API and node pools are played.
type world struct {
	*fixture
	t   *testing.T
	ctx context.Context
	// left is how many more writes the running operator may do before it crashes.
	left atomic.Int64
	// sent is held by each write on its way.
	sent sync.RWMutex
	stop context.CancelFunc
	done chan error
}

func newWorld(t *testing.T, name string) *world {
	w := &world{fixture: newFixture(t, name), t: t, ctx: t.Context()}
	runKubeControllers(t, w.config)
	ctx, cancel := context.WithCancel(context.Background())
	players := sync.WaitGroup{}
	players.Add(1)
	go func() {
		defer players.Done()
		for ctx.Err() == nil {
			w.play(ctx)
			time.Sleep(playerPeriod)
		}
	}()
	t.Cleanup(func() {
		w.crash(t)
		cancel()
		players.Wait()
	})
	return w
}

// runKubeControllers empties deleted namespaces and collects what lost its owner.
func runKubeControllers(t *testing.T, config *rest.Config) {
	t.Helper()
	port := kubetest.FreePort(t)
	output := &lockedBuffer{}
	command := exec.CommandContext(t.Context(), kubetest.Program(t, "kube-controller-manager"),
		"--kubeconfig="+kubetest.Kubeconfig(t, config, t.TempDir()), "--controllers=namespace-controller,garbage-collector-controller",
		"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port="+port, "--kube-api-qps=200", "--kube-api-burst=400")
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the end of kube-controller-manager's log:\n%s", lastLines(output.String(), 20))
		}
	})
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// start runs a new operator, as a new pod would. With a limit it crashes after so many writes.
func (w *world) start(t testing.TB, writes int64) {
	w.crash(t)
	w.left.Store(writes)
	manager, err := ctrl.NewManager(w.operatorConfig, ctrl.Options{
		Scheme: w.client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller:              controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(time.Minute),
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			plain, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(plain, w.crashing()), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetupWithManager(manager, w.reconciler.Options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop, w.done = cancel, make(chan error, 1)
	go func() { w.done <- manager.Start(ctx) }()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the operator's cache did not fill")
	}
}

// crash ends the operator, wherever its passes are.
func (w *world) crash(t testing.TB) {
	if w.stop == nil {
		return
	}
	// From now on nothing reaches the API server but what is on its way: that arrives, for the process that is gone as for any other.
	w.left.Store(-1)
	w.sent.Lock()
	w.sent.Unlock() //nolint:staticcheck // there is nothing to do but to wait
	w.stop()
	if err := <-w.done; err != nil {
		t.Errorf("the operator ended with %v", err)
	}
	w.stop = nil
}

// crashing is a client of an operator that dies in the middle of what it does: after its last write nothing works any more.
func (w *world) crashing() interceptor.Funcs {
	counted := kubetest.CountWrites(&w.writes)
	write := func(do func() error) error {
		w.sent.RLock()
		defer w.sent.RUnlock()
		if w.left.Add(-1) < 0 {
			return errCrashed
		}
		return do()
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if w.left.Load() < 0 {
				return errCrashed
			}
			return c.Get(ctx, key, obj, o...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			return write(func() error { return counted.Create(ctx, c, obj, o...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, o ...client.ApplyOption) error {
			return write(func() error { return counted.Apply(ctx, c, obj, o...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			return write(func() error { return counted.Patch(ctx, c, obj, p, o...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			return write(func() error { return counted.Update(ctx, c, obj, o...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			return write(func() error { return counted.Delete(ctx, c, obj, o...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteAllOfOption) error {
			return write(func() error { return counted.DeleteAllOf(ctx, c, obj, o...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, o ...client.SubResourceUpdateOption) error {
			return write(func() error { return counted.SubResourceUpdate(ctx, c, sub, obj, o...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			return write(func() error { return counted.SubResourcePatch(ctx, c, sub, obj, p, o...) })
		},
	}
}

// play does one round of what the controllers beside this one do. Conflicts and what vanished meanwhile are the next round's.
func (w *world) play(ctx context.Context) {
	planes := &hyperv1.HostedControlPlaneList{}
	if w.client.List(ctx, planes) != nil {
		return
	}
	for i := range planes.Items {
		w.playPlane(ctx, &planes.Items[i])
	}
	clusters := &unstructured.UnstructuredList{}
	clusters.SetGroupVersionKind(clusterapi.Cluster)
	if w.client.List(ctx, clusters) != nil {
		return
	}
	for i := range clusters.Items {
		w.playClusterAPI(ctx, &clusters.Items[i])
	}
	pools := &hyperv1.NodePoolList{}
	if w.client.List(ctx, pools) != nil {
		return
	}
	for i := range pools.Items {
		w.hold(ctx, &pools.Items[i], hyperv1.Finalizer, nil)
	}
}

// hold keeps a finalizer on an object until it is deleted and what belongs to it is gone.
func (w *world) hold(ctx context.Context, obj client.Object, finalizer string, gone func() bool) {
	before, _ := obj.DeepCopyObject().(client.Object)
	switch {
	case obj.GetDeletionTimestamp().IsZero():
		if !controllerutil.AddFinalizer(obj, finalizer) {
			return
		}
	case gone != nil && !gone():
		return
	case !controllerutil.RemoveFinalizer(obj, finalizer):
		return
	}
	_ = w.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// playPlane is the control-plane operator of one hosted cluster.
func (w *world) playPlane(ctx context.Context, hcp *hyperv1.HostedControlPlane) {
	w.hold(ctx, hcp, hyperv1.Finalizer, nil)
	if !hcp.DeletionTimestamp.IsZero() || hcp.Spec.PausedUntil != nil {
		return
	}
	for name, key := range map[string]string{"admin-kubeconfig": "kubeconfig", contract.ServiceKubeconfig: "kubeconfig"} {
		_ = w.client.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: hcp.Namespace}, Data: map[string][]byte{key: []byte(name)}})
	}
	operator := &appsv1.Deployment{}
	if w.client.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: contract.ControlPlaneOperator}, operator) == nil && operator.Status.ReadyReplicas == 0 {
		operator.Status.Replicas, operator.Status.ReadyReplicas = 1, 1
		_ = w.client.Status().Update(ctx, operator)
	}
	status := availableStatus(hcp.Spec.ReleaseImage)
	if !equality.Semantic.DeepEqual(hcp.Status, status) {
		hcp.Status = status
		_ = w.client.Status().Update(ctx, hcp)
	}
}

// playClusterAPI is Cluster API: a Cluster ends after its control plane and its infrastructure.
func (w *world) playClusterAPI(ctx context.Context, cluster *unstructured.Unstructured) {
	name, _, _ := unstructured.NestedString(cluster.Object, "spec", "controlPlaneRef", "name")
	w.hold(ctx, cluster, clusterFinalizer, func() bool {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.GetNamespace(), Name: name}}
		_ = w.client.Delete(ctx, hcp)
		_ = w.client.Delete(ctx, clusterapi.NewWithSpec(clusterapi.AzureCluster, cluster.GetNamespace(), name, nil))
		return apierrors.IsNotFound(w.client.Get(ctx, client.ObjectKeyFromObject(hcp), hcp))
	})
}

func availableStatus(image string) hyperv1.HostedControlPlaneStatus {
	now := metav1.NewTime(time.Unix(1700000000, 0))
	return hyperv1.HostedControlPlaneStatus{
		Ready: true, Initialized: true,
		ControlPlaneEndpoint: hyperv1.APIEndpoint{Host: "198.18.16.1", Port: 7443},
		KubeConfig:           &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"},
		VersionStatus: &hyperv1.ClusterVersionStatus{
			Desired: hyperv1.VersionRelease{Version: "4.21.0", Image: image},
			History: []hyperv1.UpdateHistory{{
				State: hyperv1.CompletedUpdate, Version: "4.21.0", Image: image, StartedTime: now, CompletionTime: ptr.To(now),
			}},
			AvailableUpdates: []hyperv1.VersionRelease{},
		},
		Conditions: []metav1.Condition{{
			Type: hyperv1.HostedControlPlaneAvailable, Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: now,
		}},
	}
}

// leftovers scans every kind the API server knows for what lies in the namespace, or refers to the cluster.
func (w *world) leftovers(t testing.TB, cluster, namespace string) []string {
	resources, err := discovery.NewDiscoveryClientForConfigOrDie(w.config).ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	lister := metadata.NewForConfigOrDie(w.config)
	var found []string
	for _, group := range resources {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range group.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Kind == "Event" {
				continue
			}
			list, err := lister.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("list %s: %v", resource.Name, err)
			}
			for _, item := range list.Items {
				if item.Annotations[hyperv1.HostedClusterAnnotation] == cluster || item.Namespace == namespace {
					found = append(found, resource.Kind+" "+item.Namespace+"/"+item.Name)
				}
			}
		}
	}
	return found
}
