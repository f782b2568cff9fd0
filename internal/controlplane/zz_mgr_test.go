package controlplane

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"k8s.io/utils/ptr"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/publish"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

func TestManager(t *testing.T) {
	config := kubetest.Start(t)
	config.QPS, config.Burst = 100, 300
	scheme := runtime.NewScheme()
	clientgoscheme.AddToScheme(scheme)
	hyperv1.AddToScheme(scheme)
	installRoutes(t, config)
	live, _ := client.NewWithWatch(config, client.Options{Scheme: scheme})
	f := &fixture{T: t, hcp: plane(), client: live}
	f.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "pull-secret", Namespace: "clusters-demo"}, Type: corev1.SecretTypeDockerConfigJson,
			Data: map[string][]byte{".dockerconfigjson": []byte(`{"auths":{}}`)}})
	base := newReconcilerFor(live)
	m, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{"clusters-demo": {}}},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		NewClient: func(cfg *rest.Config, o client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(cfg, o)
			if err != nil {
				return nil, err
			}
			return f.counting(c), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	base.Client = m.GetClient()
	if err := base.Setup(m); err != nil {
		t.Fatal(err)
	}
	go m.Start(context.Background())
	time.Sleep(2 * time.Second)
	begin := time.Now()
	f.create(f.hcp)
	log := func(what string) { fmt.Printf("%6.2fs %s writes=%d\n", time.Since(begin).Seconds(), what, f.writes.Load()) }
	waitFor := func(what string, ok func() bool) {
		for i := 0; i < 400 && !ok(); i++ {
			time.Sleep(25 * time.Millisecond)
		}
		log(what)
	}
	ctx := context.Background()
	has := func(obj client.Object, name string) func() bool {
		return func() bool { return live.Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: name}, obj) == nil }
	}
	lb := &corev1.Service{}
	waitFor("lb service", has(lb, "kube-apiserverlb"))
	lb.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.16.3"}}
	live.Status().Update(ctx, lb)
	waitFor("etcd", has(&appsv1.StatefulSet{}, "etcd"))
	waitFor("kas", has(&appsv1.Deployment{}, "kube-apiserver"))
	waitFor("ignition", has(&appsv1.Deployment{}, "ignition-server"))
	time.Sleep(3 * time.Second)
	log("settled")
	time.Sleep(3 * time.Second)
	log("still")
	f.roll()
	waitFor("available", func() bool { f.get(f.hcp, "demo"); return f.hcp.Status.Ready })
	time.Sleep(2 * time.Second)
	log("end")
	d := &appsv1.Deployment{}
	f.get(d, "kube-apiserver")
	fmt.Println("generation", d.Generation)
	for _, c := range f.hcp.Status.Conditions {
		fmt.Println(c.Type, c.Status, c.Reason, c.Message)
	}
}

func newReconcilerFor(c client.Client) *Reconciler {
	return &Reconciler{Client: c, Releases: oneRelease{images()}, Settings: component.Settings{Image: "quay.io/cpo@sha256:1", UID: ptr.To[int64](1001)},
		IngressDomain: "apps.mgmt.hypershift.test", Certificates: pki.DefaultPolicy(), Now: time.Now,
		Guest: func([]byte) (client.Client, error) { return c, nil },
		Probe: func(context.Context, publish.Endpoint, []byte) error { return nil },
	}
}
