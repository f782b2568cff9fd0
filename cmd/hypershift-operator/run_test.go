package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// TestRun runs the whole operator, with its caches and watches: a HostedCluster gets its control plane, comes to rest, follows a
// change of its pull secret, and goes away.
func TestRun(t *testing.T) {
	restConfig := kubetest.Start(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	image := releasetest.Serve(t, "4.21.0")
	pullSecret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: "clusters"}, Data: map[string][]byte{".dockerconfigjson": []byte(`{"auths":{}}`)},
	}
	for _, obj := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hypershift"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}},
		pullSecret, cluster(image),
	} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatalf("create %T: %v", obj, err)
		}
	}
	installConverted(t, restConfig)
	rights, asOperator := newRecorder(t, c, restConfig)
	t.Setenv("KUBECONFIG", kubetest.Kubeconfig(t, asOperator, t.TempDir()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	port, err := strconv.Atoi(kubetest.FreePort(t))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		ended <- run(ctx, config{namespace: "hypershift", metricsAddr: "0", healthAddr: "127.0.0.1:0", privatePlatform: "None", etcdBackupMaxCount: 5, webhookPort: port,
			registryOverrides: releasetest.Trust(image)})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		rights.check(t)
	})

	hc := &hyperv1.HostedCluster{}
	key := client.ObjectKey{Namespace: "clusters", Name: "demo"}
	eventually(t, "the control plane exists and the pass succeeded", func() bool {
		return c.Get(ctx, key, hc) == nil && meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.ReconciliationSucceeded) &&
			c.Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: "demo"}, &hyperv1.HostedControlPlane{}) == nil
	})
	versions := &corev1.ConfigMap{}
	published := func() bool {
		return c.Get(ctx, client.ObjectKey{Namespace: "hypershift", Name: "supported-versions"}, versions) == nil &&
			strings.Contains(versions.Data["supported-versions"], `"4.21"`) && versions.Data["payload-kinds"] == `{"kinds":["Kubernetes","OpenShift"]}` && versions.DeletionTimestamp.IsZero()
	}
	eventually(t, "the supported versions are published", published)
	versions.Data["supported-versions"] = `{"versions":["1.0"]}`
	if err := c.Update(ctx, versions); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what somebody wrote into them does not stay", published)
	if err := c.Delete(ctx, versions); err != nil {
		t.Fatal(err)
	}
	eventually(t, "they are back after a deletion", published)
	eventually(t, "the API server trusts the conversion webhook", func() bool {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		return c.Get(ctx, client.ObjectKey{Name: convertedDefinition}, crd) == nil && len(crd.Spec.Conversion.Webhook.ClientConfig.CABundle) > 0
	})
	before := pullSecret.DeepCopy()
	pullSecret.Data[".dockerconfigjson"] = []byte(`{"auths":{"quay.io":{}}}`)
	if err := c.Patch(ctx, pullSecret, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	copied := &corev1.Secret{}
	eventually(t, "the copy of the pull secret follows", func() bool {
		return c.Get(ctx, client.ObjectKey{Namespace: "clusters-demo", Name: "pull-secret"}, copied) == nil &&
			string(copied.Data[".dockerconfigjson"]) == string(pullSecret.Data[".dockerconfigjson"])
	})
	if err := c.Delete(ctx, hc); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the HostedCluster is gone", func() bool {
		namespace := &corev1.Namespace{}
		if err := c.Get(ctx, client.ObjectKey{Name: "clusters-demo"}, namespace); err == nil && !namespace.DeletionTimestamp.IsZero() {
			// There is no namespace controller here.
			namespace.Spec.Finalizers = nil
			_ = c.SubResource("finalize").Update(ctx, namespace)
		}
		return apierrors.IsNotFound(c.Get(ctx, key, hc))
	})
}

const convertedDefinition = "machines.cluster.x-k8s.io"

// installConverted gives one definition the form that install gives it.
func installConverted(t *testing.T, restConfig *rest.Config) {
	t.Helper()
	crds, err := (&install.Options{Namespace: "hypershift"}).CRDs()
	if err != nil {
		t.Fatal(err)
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name != convertedDefinition })
	if _, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: crds}); err != nil {
		t.Fatal(err)
	}
}

func cluster(image string) *hyperv1.HostedCluster {
	publish := func(service hyperv1.ServiceType) hyperv1.ServicePublishingStrategyMapping {
		return hyperv1.ServicePublishingStrategyMapping{
			Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer},
		}
	}
	return &hyperv1.HostedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters"},
		Spec: hyperv1.HostedClusterSpec{
			Release:    hyperv1.Release{Image: image},
			PullSecret: corev1.LocalObjectReference{Name: "pull"},
			DNS:        hyperv1.DNSSpec{BaseDomain: "hypershift.test"},
			Platform:   hyperv1.PlatformSpec{Type: hyperv1.NonePlatform},
			Networking: hyperv1.ClusterNetworking{
				NetworkType:    hyperv1.OtherNetwork,
				ClusterNetwork: []hyperv1.ClusterNetworkEntry{{CIDR: "10.132.0.0/14"}},
				ServiceNetwork: []hyperv1.NetworkEntry{{CIDR: "172.31.0.0/16"}},
			},
			Etcd: hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{
				Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}},
			Services: []hyperv1.ServicePublishingStrategyMapping{
				publish(hyperv1.APIServer), publish(hyperv1.Ignition), publish(hyperv1.Konnectivity), publish(hyperv1.OAuthServer),
			},
		},
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s it is not true that %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
