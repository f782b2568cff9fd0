package metrics

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

var update = flag.Bool("update", false, "rewrite golden files")

const golden = "testdata/metrics.txt"

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(seconds int) metav1.Time {
	return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second))
}

func conditions(pairs ...string) []metav1.Condition {
	var all []metav1.Condition
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, metav1.Condition{Type: pairs[i], Status: metav1.ConditionStatus(pairs[i+1]), Reason: "Test", LastTransitionTime: ago(10)})
	}
	return all
}

func hostedCluster(name string, created int) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, CreationTimestamp: ago(created)}}
	hc.Spec.ClusterID = "id-of-" + name
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{
		Location: "eastus", SubscriptionID: "sub", ResourceGroupName: name + "-rg",
	}}
	return hc
}

func nodePool(cluster, name, size string, replicas, available int32) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, CreationTimestamp: ago(500)}}
	np.Spec.ClusterName, np.Spec.Replicas = cluster, ptr.To(replicas)
	np.Spec.Platform = hyperv1.NodePoolPlatform{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzureNodePoolPlatform{VMSize: size}}
	np.Status.Replicas, np.Status.Version = available, "4.21.0"
	return np
}

// installing is being created.
func installing() *hyperv1.HostedCluster {
	hc := hostedCluster("installing", 120)
	hc.Status.Conditions = conditions("Available", "False", "Degraded", "True", "Progressing", "True", "ExternalDNSReachable", "Unknown",
		"EtcdAvailable", "Unknown")
	hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.21.0", StartedTime: ago(119)}}}
	hc.Spec.Platform.Azure.ContainerRegistry = &hyperv1.AzureContainerRegistry{Credentials: &hyperv1.AzureRegistryCredentials{}}
	return hc
}

// upgraded moves to another version, behind a proxy.
func upgraded() *hyperv1.HostedCluster {
	hc := hostedCluster("upgrading", 90000)
	hc.Labels = map[string]string{"api.openshift.com/limited-support": "true", "hypershift.openshift.io/silence-cluster-alerts": ""}
	hc.Annotations = map[string]string{
		hyperv1.HasBeenAvailableAnnotation: "true", hyperv1.AzureMachineIdentityAnnotation: "/subscriptions/sub/x",
		"hypershift.openshift.io/cluster-size-override": "large",
	}
	hc.Spec.Configuration = &hyperv1.ClusterConfiguration{
		Proxy: &hyperv1.ProxySpec{HTTPSProxy: "http://proxy:3128", TrustedCA: &corev1.LocalObjectReference{Name: "proxy-ca"}},
		OAuth: &runtime.RawExtension{Raw: []byte(`{"identityProviders":[{"type":"OpenID"},{"type":"HTPasswd"},{"type":"OpenID"}]}`)},
	}
	hc.Status.Conditions = append(conditions("Available", "True", "Degraded", "False"),
		metav1.Condition{Type: "EtcdRecoveryActive", Status: "False", Reason: "EtcdRecoveryJobFailed", LastTransitionTime: ago(1)},
		metav1.Condition{Type: "EtcdBackupSucceeded", Status: "False", Reason: "BackupFailed", LastTransitionTime: ago(1)})
	hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{
		{State: hyperv1.PartialUpdate, Version: "4.22.0", StartedTime: ago(300)},
		{State: hyperv1.CompletedUpdate, Version: "4.21.0", StartedTime: ago(90000)},
	}}
	hc.Status.SecretEncryption = &hyperv1.SecretEncryptionStatus{History: []hyperv1.SecretEncryptionRotation{{State: "Migrating", StartedTime: ago(30)}}}
	return hc
}

// deleted goes away, after an outage.
func deleted() *hyperv1.HostedCluster {
	hc := hostedCluster("deleting", 100000)
	hc.DeletionTimestamp, hc.Finalizers = ptr.To(ago(77)), []string{hyperv1.Finalizer}
	hc.Annotations = map[string]string{hyperv1.HasBeenAvailableAnnotation: "true", hyperv1.CleanupCloudResourcesAnnotation: "true"}
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}
	hc.Status.Conditions = conditions("Available", "False", "CloudResourcesDestroyed", "False")
	return hc
}

func pools() []client.Object {
	first := nodePool("upgrading", "first", "Standard_D4s_v3", 3, 2)
	scaled := nodePool("upgrading", "scaled", "Standard_E8-2ds_v5", 0, 7)
	scaled.Spec.Replicas, scaled.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 1, Max: 5}
	odd := nodePool("installing", "odd", "Gigantic", 1, 1)
	odd.Status.Version = ""
	odd.Status.Conditions = []hyperv1.NodePoolCondition{{Type: "Ready", Status: "False"}, {Type: "UpdatingVersion", Status: "True"}, {Type: "AutorepairEnabled", Status: "False"}}
	going := nodePool("deleting", "going", "Standard_D4s_v3", 1, 0)
	going.DeletionTimestamp, going.Finalizers = ptr.To(ago(33)), []string{hyperv1.Finalizer}
	return []client.Object{first, scaled, odd, going}
}

// backups of one hosted cluster: the newest one failed.
func backups() []client.Object {
	made := func(name string, ended int, status metav1.ConditionStatus, reason string) client.Object {
		return &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-upgrading", Name: name}, Status: hyperv1.HCPEtcdBackupStatus{
			Conditions: []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: status, Reason: reason, LastTransitionTime: ago(ended)}}}}
	}
	return []client.Object{made("c", 100, metav1.ConditionFalse, hyperv1.BackupFailedReason), made("b", 3600, metav1.ConditionTrue, hyperv1.BackupSucceededReason),
		made("a", 7200, metav1.ConditionTrue, hyperv1.BackupSucceededReason)}
}

// fleet is everything the operator tells about the objects.
type fleet struct {
	*follower
	gauges *collector
}

// Describe leaves the gauges out, as they do.
func (f fleet) Describe(chan<- *prometheus.Desc) {}

func (f fleet) Collect(to chan<- prometheus.Metric) {
	f.follower.Collect(to)
	f.gauges.Collect(to)
}

func newFleet(t *testing.T, objects ...client.Object) fleet {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	f := newFollower()
	created, migrating := installing(), upgraded()
	available := installing()
	available.Status.Conditions = conditions("Available", "True", "EtcdAvailable", "True")
	f.clusterChanged(created, available)
	migrated := upgraded()
	migrated.Status.SecretEncryption.History[0].State, migrated.Status.SecretEncryption.History[0].CompletionTime = "Completed", ptr.To(ago(0))
	interrupted := upgraded()
	interrupted.Status.SecretEncryption.History[0].State = "Interrupted"
	f.clusterChanged(migrating, migrated)
	f.clusterChanged(migrating, interrupted)
	f.clusterChanged(migrated, migrated)
	pending := nodePool("upgrading", "first", "", 1, 0)
	pending.Status.Version = ""
	ready := pending.DeepCopy()
	ready.Status.Conditions = []hyperv1.NodePoolCondition{{Type: "Ready", Status: "True", LastTransitionTime: ago(455)}}
	f.poolChanged(pending, ready)
	f.poolChanged(ready, ready)

	return fleet{f, &collector{reader: reader, now: func() time.Time { return now }, options: Options{Version: "v1", Image: "quay.io/operator:v1", Backups: true}}}
}

// TestGolden compares every series of a small fleet.
func TestGolden(t *testing.T) {
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "proxy-ca"}, Data: map[string]string{"ca-bundle.crt": certificates(t, now.AddDate(2, 0, 0), now.AddDate(1, 0, 0))}}
	all := newFleet(t, append(append(pools(), backups()...), installing(), upgraded(), deleted(), bundle)...)
	got := scrape(t, all)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range without(got, string(want)) {
		t.Errorf("not in %s: %s", golden, line)
	}
	for _, line := range without(string(want), got) {
		t.Errorf("missing: %s", line)
	}
	for _, d := range Definitions() {
		if !strings.Contains(got, "# TYPE "+d.Name+" "+string(d.Type)+"\n") {
			t.Errorf("the fixtures make no series of %s %s", d.Type, d.Name)
		}
	}
}

// scrape is what Prometheus gets.
func scrape(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("scrape: %d: %s", recorder.Code, recorder.Body)
	}
	return recorder.Body.String()
}

// without returns the lines of one text that another lacks.
func without(one, other string) []string {
	known := strings.Split(other, "\n")
	return slices.DeleteFunc(strings.Split(one, "\n"), func(line string) bool { return slices.Contains(known, line) })
}

// certificates is a bundle with one certificate for each time at which one expires.
func certificates(t *testing.T, ends ...time.Time) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var bundle bytes.Buffer
	for _, expiry := range ends {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: expiry}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		if err := pem.Encode(&bundle, &pem.Block{Type: "CERTIFICATE", Bytes: raw}); err != nil {
			t.Fatal(err)
		}
	}
	return bundle.String()
}
