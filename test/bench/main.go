// Command bench compares a HostedCluster with a control plane written by hand, and with its own parts applied without any operator.
// The runs are interleaved.
//
// It needs a sandbox with the demo's files; hack/bench.sh calls it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

const (
	namespace = "clusters"
	patience  = 10 * time.Minute
	look      = 50 * time.Millisecond
)

// parts are the workloads that both sides have.
var parts = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

func main() {
	rounds := flag.Int("rounds", 3, "how often each side is measured")
	work := flag.String("work", "", "folder of the demo's files")
	clusters := flag.Int("clusters", 12, "how many hosted clusters are made at once; 0 leaves that out")
	planes := flag.Bool("planes", true, "measure control planes")
	pools := flag.Bool("pools", true, "measure node pools")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, wanted{*planes, *pools, *rounds, *clusters}, *work); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type bench struct {
	client.Client
	work, name string
	manifests  []*unstructured.Unstructured
}

// times are seconds since the apply.
type times struct {
	apiServer, all float64
	// component is when each of the hosted cluster was available first.
	component map[string]float64
}

// wanted is what is measured.
type wanted struct {
	planes, pools    bool
	rounds, clusters int
}

func run(ctx context.Context, wanted wanted, work string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 200
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(hyperv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	l := &limits.Limits{}
	if wanted.planes {
		if err := controlPlanes(ctx, c, l, wanted.rounds, work); err != nil {
			return err
		}
	}
	if wanted.pools {
		if err := nodePools(ctx, c, l, wanted.rounds, work); err != nil {
			return err
		}
	}
	if wanted.planes && wanted.clusters > 0 {
		if err := fleet(ctx, c, l, work, wanted.clusters); err != nil {
			return fmt.Errorf("%d hosted clusters at once: %w", wanted.clusters, err)
		}
	}
	return l.Err()
}

func controlPlanes(ctx context.Context, c client.Client, l *limits.Limits, rounds int, work string) error {
	if err := memory(ctx, c, l); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if err := compareExec(ctx, l, work); err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return compare(ctx, c, l, rounds, work)
}

func nodePools(ctx context.Context, c client.Client, l *limits.Limits, rounds int, work string) error {
	if err := smallPools(ctx, c, l, rounds, work); err != nil {
		return err
	}
	if err := fewMore(ctx, c, l); err != nil {
		return fmt.Errorf("3 -> 10 nodes: %w", err)
	}
	if err := nodes(ctx, c, l); err != nil {
		return fmt.Errorf("%d hollow nodes: %w", manyNodes, err)
	}
	return nil
}

// breakdown prints when each component was available, the earliest first.
func breakdown(hosted []times) {
	at := map[string]float64{}
	for name := range hosted[0].component {
		at[name] = median(hosted, func(t times) float64 { return t.component[name] })
	}
	names := slices.SortedFunc(maps.Keys(at), func(a, b string) int { return cmp.Compare(at[a], at[b]) })
	for _, name := range names {
		fmt.Printf("  %-46s %5.1fs\n", name, at[name])
	}
}

func median[T any](all []T, pick func(T) float64) float64 {
	var values []float64
	for _, t := range all {
		values = append(values, pick(t))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func (b *bench) controlPlane() string { return namespace + "-" + b.name }

// hosted measures one HostedCluster, keeps a copy of its parts, and deletes it.
func (b *bench) hosted(ctx context.Context) (times, []*unstructured.Unstructured, error) {
	begin := time.Now()
	if err := b.apply(ctx); err != nil {
		return times{}, nil, err
	}
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name = namespace, b.name
	t := times{component: map[string]float64{}}
	condition := func(name string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			if err := errors.Join(b.note(ctx, begin, t.component), b.Get(ctx, client.ObjectKeyFromObject(hc), hc)); err != nil {
				return false, err
			}
			return kube.IsTrue(hc.Status.Conditions, name), nil
		}
	}
	if err := until(ctx, condition("KubeAPIServerAvailable")); err != nil {
		return t, nil, err
	}
	t.apiServer = time.Since(begin).Seconds()
	if err := until(ctx, condition("Available")); err != nil {
		return t, nil, err
	}
	t.all = time.Since(begin).Seconds()
	saved, err := b.save(ctx)
	if err != nil {
		return t, nil, err
	}
	if err := b.Delete(ctx, hc); err != nil {
		return t, nil, err
	}
	return t, saved, b.gone(ctx)
}

// note remembers which components have become available by now.
func (b *bench) note(ctx context.Context, begin time.Time, seen map[string]float64) error {
	list := &hyperv1.ControlPlaneComponentList{}
	if err := b.List(ctx, list, client.InNamespace(b.controlPlane())); err != nil {
		return err
	}
	for _, item := range list.Items {
		if _, known := seen[item.Name]; !known && kube.IsTrue(item.Status.Conditions, hyperv1.ControlPlaneComponentAvailable) {
			seen[item.Name] = time.Since(begin).Seconds()
		}
	}
	return nil
}

// render asks the command line for the manifests once; making keys and infrastructure is not part of the time.
func (b *bench) render(ctx context.Context) error {
	if err := b.createInfra(ctx); err != nil {
		return err
	}
	args := []string{"create", "cluster", "azure", "--render", "--render-sensitive", "--name", b.name, "--namespace", namespace,
		"--node-pool-replicas", "-1", "--infra-json", b.infraFile(), "--generate-ssh",
		"--workload-identities-file", b.identitiesFile(),
		"--sa-token-issuer-private-key-path", b.work + "/serviceaccount-signer.private"}
	for flag, variable := range map[string]string{"--azure-creds": "AZURE_CREDS", "--base-domain": "BASE_DOMAIN",
		"--pull-secret": "PULL_SECRET", "--release-image": "RELEASE_IMAGE", "--oidc-issuer-url": "ISSUER_URL", "--location": "LOCATION"} {
		args = append(args, flag, os.Getenv(variable))
	}
	var problem bytes.Buffer
	cmd := exec.CommandContext(ctx, "hypershift", args...)
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, problem.Bytes())
	}
	b.manifests, err = decode(bytes.NewReader(out))
	return err
}

func (b *bench) apply(ctx context.Context) error {
	for _, o := range b.manifests {
		if err := b.Create(ctx, o.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

var savedKinds = []struct{ group, version, kind string }{
	{"", "v1", "ServiceAccount"}, {"", "v1", "Secret"}, {"", "v1", "ConfigMap"}, {"", "v1", "Service"},
	{"rbac.authorization.k8s.io", "v1", "Role"}, {"rbac.authorization.k8s.io", "v1", "RoleBinding"},
	{"apps", "v1", "StatefulSet"}, {"apps", "v1", "Deployment"},
}

// save copies what the parts need, without owners and without what the cluster filled in.
func (b *bench) save(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var saved []*unstructured.Unstructured
	for _, k := range savedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(schemaVersion(k.group, k.version))
		list.SetKind(k.kind + "List")
		if err := b.List(ctx, list, client.InNamespace(b.controlPlane())); err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			workload := k.group == "apps"
			if workload && !slices.Contains(parts, o.GetName()) || k.kind == "Service" && isLoadBalancer(o) || o.GetName() == "kube-root-ca.crt" {
				continue
			}
			saved = append(saved, stripped(o))
		}
	}
	return saved, nil
}

func schemaVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

func isLoadBalancer(o *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "type")
	return kind == "LoadBalancer"
}

func stripped(o *unstructured.Unstructured) *unstructured.Unstructured {
	bare := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(o.Object)}
	unstructured.RemoveNestedField(bare.Object, "status")
	for _, field := range []string{"resourceVersion", "uid", "ownerReferences", "finalizers", "managedFields", "creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(bare.Object, "metadata", field)
	}
	if o.GetKind() == "Service" {
		ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP")
		if ip != corev1.ClusterIPNone {
			unstructured.RemoveNestedField(bare.Object, "spec", "clusterIP")
			unstructured.RemoveNestedField(bare.Object, "spec", "clusterIPs")
		}
	}
	return bare
}

// bare applies the saved parts in a namespace of the same name, so that the certificates fit, and deletes it.
func (b *bench) bare(ctx context.Context, saved []*unstructured.Unstructured) (times, error) {
	begin := time.Now()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.controlPlane()}}
	if err := b.Create(ctx, ns); err != nil {
		return times{}, err
	}
	for _, o := range saved {
		if err := b.Create(ctx, stripped(o)); err != nil && !apierrors.IsAlreadyExists(err) {
			return times{}, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	var t times
	if err := until(ctx, b.ready("kube-apiserver")); err != nil {
		return t, err
	}
	t.apiServer = time.Since(begin).Seconds()
	for _, part := range parts {
		if err := until(ctx, b.ready(part)); err != nil {
			return t, err
		}
	}
	t.all = time.Since(begin).Seconds()
	if err := until(ctx, b.ended); err != nil {
		return t, err
	}
	if err := b.Delete(ctx, ns); err != nil {
		return t, err
	}
	return t, b.gone(ctx)
}

// ended deletes the bare parts and tells whether their pods and disks are gone: a namespace that is deleted before them takes minutes,
// and so does an API server that its owner's deletion has asked to end.
func (b *bench) ended(ctx context.Context) (bool, error) {
	inside, leave := client.InNamespace(b.controlPlane()), client.PropagationPolicy(metav1.DeletePropagationOrphan)
	err := errors.Join(
		b.DeleteAllOf(ctx, &appsv1.Deployment{}, inside, leave),
		b.DeleteAllOf(ctx, &appsv1.StatefulSet{}, inside, leave),
		b.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, leave),
		b.DeleteAllOf(ctx, &corev1.Pod{}, inside, client.GracePeriodSeconds(1)),
		b.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, inside))
	pods, disks := &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}
	err = errors.Join(err, b.List(ctx, pods, inside), b.List(ctx, disks, inside))
	return len(pods.Items)+len(disks.Items) == 0, err
}

func (b *bench) ready(part string) func(context.Context) (bool, error) {
	kind := "Deployment"
	if part == "etcd" {
		kind = "StatefulSet"
	}
	return func(ctx context.Context) (bool, error) {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apps/v1")
		o.SetKind(kind)
		err := b.Get(ctx, client.ObjectKey{Namespace: b.controlPlane(), Name: part}, o)
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
		return ready > 0, client.IgnoreNotFound(err)
	}
}

func (b *bench) gone(ctx context.Context) error {
	return until(ctx, func(ctx context.Context) (bool, error) {
		err := b.Get(ctx, client.ObjectKey{Name: b.controlPlane()}, &corev1.Namespace{})
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		err = b.Get(ctx, client.ObjectKey{Namespace: namespace, Name: b.name}, &hyperv1.HostedCluster{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func until(ctx context.Context, done func(context.Context) (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, look, patience, true, done)
	if wait.Interrupted(err) {
		return errors.New("took more than " + patience.String())
	}
	return err
}
