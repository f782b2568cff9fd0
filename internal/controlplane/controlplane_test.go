package controlplane

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

type oneRelease struct {
	version string
	images  map[string]string
}

// testVersion is the version of payloads whose test says nothing else.
const testVersion = "4.21.0"

func (r oneRelease) Lookup(_ context.Context, image string, access release.Access) (*release.Release, error) {
	if len(access.PullSecret) == 0 {
		return nil, errors.New("no pull secret")
	}
	return &release.Release{Image: image, Digest: "sha256:release", Version: r.version, Images: r.images}, nil
}

// everyCatalog has the catalogs of each version; the digest is the name, as in the payload.
func everyCatalog(_ context.Context, image string, access release.Access) (string, error) {
	if len(access.PullSecret) == 0 {
		return "", errors.New("no pull secret")
	}
	name, _, _ := strings.Cut(path.Base(image), "-index:v")
	return "sha256:" + strings.Replace(name, "operator", "operators", 1), nil
}

type fixture struct {
	*testing.T
	client     client.Client
	reconciler *Reconciler
	hcp        *hyperv1.HostedControlPlane
	// payload that the tables are asked about.
	payload table.Release
	writes  atomic.Int64
	// calls are the reconciler's.
	calls kubetest.Calls
}

func newFixture(t *testing.T) *fixture {
	config := server.Config(t)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	kubetest.InstallRoutes(t, config)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, hcp: planetest.Plane(), payload: table.Release{Kind: string(release.KindKubernetes), Version: testVersion}}
	f.client = interceptor.NewClient(c, kubetest.CountWrites(&f.writes))
	f.reconciler = &Reconciler{
		Client: interceptor.NewClient(f.operator(config, scheme), kubetest.CountWrites(&f.writes)), Releases: oneRelease{testVersion, planetest.Images()}, Catalogs: &catalog.Finder{Digest: everyCatalog}, Settings: component.Settings{Image: "quay.io/cpo@sha256:1", UID: ptr.To[int64](1001)},
		IngressDomain: "apps.mgmt.hypershift.test", Certificates: pki.DefaultPolicy(), Now: time.Now,
		// The guest of this test is the management cluster itself.
		Guest: func([]byte) (client.Client, error) { return c, nil },
		Probe: func(context.Context, publish.Endpoint, []byte) error { return nil },
	}
	return f
}

func (f *fixture) create(objects ...client.Object) {
	f.Helper()
	for _, obj := range objects {
		if err := f.client.Create(context.Background(), obj); err != nil {
			f.Fatalf("%T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// pass reconciles once and reads the object back.
func (f *fixture) pass() {
	f.Helper()
	key := client.ObjectKeyFromObject(f.hcp)
	if _, err := f.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: key}); err != nil {
		f.Fatal(err)
	}
	f.get(f.hcp, f.hcp.Name)
}

func (f *fixture) get(obj client.Object, name string) {
	f.Helper()
	if err := f.client.Get(context.Background(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: name}, obj); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) condition(kind string, status metav1.ConditionStatus, reason string) {
	f.Helper()
	c := kube.Find(f.hcp.Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		f.Errorf("condition %s is %+v, want %s %s", kind, c, status, reason)
	}
}

// roll plays the controllers of the management cluster: everything created is running.
func (f *fixture) roll() {
	f.Helper()
	ctx := context.Background()
	deployments := &appsv1.DeploymentList{}
	if err := f.client.List(ctx, deployments, client.InNamespace(f.hcp.Namespace)); err != nil {
		f.Fatal(err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
		if err := f.client.Status().Update(ctx, d); err != nil {
			f.Fatal(err)
		}
	}
	f.etcdRuns()
}

// etcdRuns plays the members of etcd, before which only the API server is made.
func (f *fixture) etcdRuns() {
	f.Helper()
	s := &appsv1.StatefulSet{}
	f.get(s, "etcd")
	n := *s.Spec.Replicas
	s.Status = appsv1.StatefulSetStatus{ObservedGeneration: s.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	if err := f.client.Status().Update(f.Context(), s); err != nil {
		f.Fatal(err)
	}
}

// serving is what the API server's certificate is for.
func (f *fixture) serving() []string {
	f.Helper()
	secret := &corev1.Secret{}
	f.get(secret, pki.APIServing)
	cert, err := pki.ParseCertificate(secret.Data[corev1.TLSCertKey])
	if err != nil {
		f.Fatal(err)
	}
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func TestControlPlane(t *testing.T) {
	f := newFixture(t)
	f.begin()

	f.pass()
	f.condition(hyperv1.InfrastructureReady, metav1.ConditionFalse, hyperv1.WaitingOnInfrastructureReadyReason)
	f.get(&appsv1.StatefulSet{}, "etcd")
	begun := &appsv1.Deployment{}
	f.get(begun, "kube-apiserver")
	if names := f.serving(); !slices.Contains(names, "kubernetes") {
		t.Errorf("before its address is known, the API server serves as %v", names)
	}
	err := f.client.Get(context.Background(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: "kube-scheduler"}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("others are made before etcd runs: %v", err)
	}
	pod := f.apiServerPod()
	f.create(pod)

	f.etcdRuns()
	lb := &corev1.Service{}
	f.get(lb, publish.APIServerLoadBalancer)
	lb.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.16.3"}}
	if err := f.client.Status().Update(context.Background(), lb); err != nil {
		t.Fatal(err)
	}
	f.pass()
	f.condition(hyperv1.InfrastructureReady, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionFalse, hyperv1.NotFoundReason)
	f.checkAddressCame(begun, pod)
	if e := f.hcp.Status.ControlPlaneEndpoint; e.Host != "198.18.16.3" || e.Port != 7443 {
		t.Errorf("endpoint %+v", e)
	}
	f.checkPods()
	f.checkPublished()

	f.roll()
	f.pass()
	f.condition(hyperv1.EtcdAvailable, metav1.ConditionTrue, hyperv1.EtcdQuorumAvailableReason)
	f.condition(hyperv1.KubeAPIServerAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	f.condition(hyperv1.ValidReleaseInfo, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	f.condition(hyperv1.HostedControlPlaneDegraded, metav1.ConditionFalse, hyperv1.AsExpectedReason)
	s := f.hcp.Status
	if !s.Ready || !s.Initialized || s.ControlPlaneVersion.History[0].State != hyperv1.CompletedUpdate {
		t.Errorf("status %+v", s)
	}
	f.get(&rbacv1.ClusterRoleBinding{}, "hypershift:hosted-cluster-config-operator")

	f.checkMisnamed(pod)
	f.quiet("once everything runs")
	f.checkDrift()

	f.reconciler.Releases = oneRelease{testVersion, map[string]string{"etcd": "quay.io/x@sha256:etcd"}}
	f.pass()
	f.condition(hyperv1.ValidReleaseInfo, metav1.ConditionFalse, hyperv1.MissingReleaseImagesReason)
}

// checkAddressCame: the certificate has the address, the pod is told to read it, and is not replaced.
func (f *fixture) checkAddressCame(begun *appsv1.Deployment, pod *corev1.Pod) {
	f.Helper()
	if names := f.serving(); !slices.Contains(names, "198.18.16.3") {
		f.Errorf("the API server serves as %v", names)
	}
	d := &appsv1.Deployment{}
	f.get(d, begun.Name)
	if d.Generation != begun.Generation {
		f.Errorf("the API server's Deployment changed with its address:\n%v\n%v", begun.Spec.Template, d.Spec.Template)
	}
	f.get(pod, pod.Name)
	if len(pod.Annotations) != 1 {
		f.Errorf("the API server's pod is not told of its certificate: %v", pod.Annotations)
	}
	told := maps.Clone(pod.Annotations)
	f.pass()
	if f.get(pod, pod.Name); !maps.Equal(told, pod.Annotations) {
		f.Errorf("the API server's pod is told again of the same certificate: %v", pod.Annotations)
	}
}

// checkMisnamed: an API server that shows a certificate for other names is no API server for anybody, and its pods are told to look again.
func (f *fixture) checkMisnamed(pod *corev1.Pod) {
	f.Helper()
	answers := f.reconciler.Probe
	f.reconciler.Probe = misnamed
	told := maps.Clone(pod.Annotations)
	f.pass()
	f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionFalse, hyperv1.KASLoadBalancerNotReachable)
	if f.get(pod, pod.Name); maps.Equal(told, pod.Annotations) {
		f.Errorf("the API server's pod is not told to look at its certificates: %v", pod.Annotations)
	}
	f.reconciler.Probe = answers
	f.pass()
	f.condition(hyperv1.HostedControlPlaneAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

// misnamed is the probe of an API server whose certificate does not name its address.
func misnamed(_ context.Context, endpoint publish.Endpoint, _ []byte) error {
	return fmt.Errorf("the published API server does not answer: %w", x509.HostnameError{Certificate: &x509.Certificate{}, Host: endpoint.Host})
}

// apiServerPod is a pod of the API server's Deployment.
func (f *fixture) apiServerPod() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-0", Namespace: f.hcp.Namespace, Labels: map[string]string{component.LabelApp: "kube-apiserver"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-apiserver", Image: "x"}}}}
}

// checkPods looks for what makes pods wait forever or a security context refuse them.
func (f *fixture) checkPods() {
	f.Helper()
	list := &appsv1.DeploymentList{}
	if err := f.client.List(context.Background(), list, client.InNamespace(f.hcp.Namespace)); err != nil {
		f.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range list.Items {
		names[d.Name] = true
		spec := d.Spec.Template.Spec
		f.get(&corev1.ServiceAccount{}, spec.ServiceAccountName)
		for _, v := range spec.Volumes {
			switch {
			case v.Secret != nil:
				f.get(&corev1.Secret{}, v.Secret.SecretName)
			case v.ConfigMap != nil:
				f.get(&corev1.ConfigMap{}, v.ConfigMap.Name)
			}
		}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			if strings.Contains(c.Image, "@") && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem {
				continue
			}
			f.Errorf("%s/%s: image %q, security %+v", d.Name, c.Name, c.Image, c.SecurityContext)
		}
	}
	for _, want := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "azure-cloud-controller-manager",
		"hosted-cluster-config-operator", "machine-approver", "ignition-server", "ignition-server-proxy"} {
		if !names[want] {
			f.Errorf("Deployment %s is missing", want)
		}
	}
}

func (f *fixture) checkPublished() {
	f.Helper()
	for _, name := range []string{"admin-kubeconfig", "bootstrap-kubeconfig", "demo-x1-kubeconfig", "ignition-server-ca-cert", "azure-cloud-config", "sa-signing-key"} {
		f.get(&corev1.Secret{}, name)
	}
	capi := &corev1.Secret{}
	f.get(capi, "demo-x1-kubeconfig")
	if capi.Labels["cluster.x-k8s.io/cluster-name"] != "demo-x1" || len(capi.Data["value"]) == 0 {
		f.Errorf("Cluster API's kubeconfig: %v", capi.Labels)
	}
	for _, name := range []string{"root-ca", "client-ca", "kubelet-client-ca", "azure-cloud-config", "ignition-config-fips", "ignition-config-worker-ssh"} {
		f.get(&corev1.ConfigMap{}, name)
	}
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(publish.RouteKind)
	f.get(route, publish.IgnitionService)
}

func TestCopiesLeadToTheControlPlane(t *testing.T) {
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pull-secret", Namespace: "clusters-demo",
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}}
	requests := byCluster(t.Context(), copied)
	if len(requests) != 1 || requests[0].String() != "clusters-demo/demo" {
		t.Errorf("requests %v", requests)
	}
	copied.Annotations = nil
	if requests := byCluster(t.Context(), copied); len(requests) != 0 {
		t.Errorf("somebody else's Secret leads to %v", requests)
	}
}
