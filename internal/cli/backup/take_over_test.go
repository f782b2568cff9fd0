package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// site is a management cluster that knows Cluster API, with the order in which kinds were made on it.
type site struct {
	client.Client
	made []string
	// failAt is the number of the creation that fails once; 0 is none.
	failAt int
}

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), hyperv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for _, kind := range machineKinds {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	s := &site{}
	s.Client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(testrestmapper.TestOnlyStaticRESTMapper(scheme)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if len(s.made)+1 == s.failAt {
				s.failAt = 0
				return errors.New("the connection was lost")
			}
			if b, ok := obj.(*hyperv1.HCPEtcdBackup); ok {
				ends(b, hyperv1.BackupSucceededReason)
			}
			err := c.Create(ctx, obj, opts...)
			if err == nil {
				s.made = append(s.made, obj.GetObjectKind().GroupVersionKind().Kind)
			}
			return err
		}}).Build()
	return s
}

func hosted(hc *hyperv1.HostedCluster) {
	hc.Finalizers = []string{hyperv1.Finalizer}
	hc.Spec.InfraID = "demo-x1"
	hc.Spec.PullSecret.Name = "demo-pull"
	hc.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: "PersistentVolume"}}}
	for service, host := range map[hyperv1.ServiceType]hyperv1.Hostname{hyperv1.APIServer: "api.example.com", hyperv1.Konnectivity: "tunnel.example.com", hyperv1.Ignition: ""} {
		hc.Spec.Services = append(hc.Spec.Services, hyperv1.ServicePublishingStrategyMapping{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
			Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: host}}})
	}
}

func machineObject(kind string, name string) *unstructured.Unstructured {
	at := slices.IndexFunc(machineKinds, func(k schema.GroupVersionKind) bool { return k.Kind == kind })
	o := clusterapi.NewWithSpec(machineKinds[at], "clusters-demo", name, map[string]any{"providerID": "azure:///vm/" + name, "replicas": int64(1)})
	o.SetUID("uid-of-the-former")
	o.SetFinalizers([]string{"a.b/c"})
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Former", Name: "former", UID: "former"}})
	o.SetAnnotations(map[string]string{"desired-hash.hypershift.openshift.io/x": "1", "kept": "yes"})
	o.Object["status"] = map[string]any{"phase": "Running"}
	return o
}

func former(t *testing.T, change ...func(*hyperv1.HostedCluster)) *site {
	secret := func(namespace, name string, change func(*corev1.Secret)) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"key": []byte(canary + name)}}
		if change != nil {
			change(s)
		}
		return s
	}
	ours := func(s *corev1.Secret) {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedControlPlane", Name: "demo", UID: "former", Controller: ptr.To(true)}}
	}
	pool := surveytest.Pool("demo", "workers", 1)
	other := surveytest.Pool("other", "others", 1)
	s := newSite(t, surveytest.Cluster("demo", append([]func(*hyperv1.HostedCluster){hosted}, change...)...), pool, other,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}},
		secret("clusters", "demo-pull", nil), secret("clusters", "stranger", nil),
		secret("clusters-demo", "root-ca", ours), secret("clusters-demo", "etcd-snapshot", ours), secret("clusters-demo", "pull-secret", nil),
		secret("clusters-demo", "user-data-workers-1", func(s *corev1.Secret) {
			s.Annotations = map[string]string{hyperv1.NodePoolAnnotation: "clusters/workers"}
		}),
		machineObject("Cluster", "demo-x1"), machineObject("MachineSet", "workers-1"), machineObject("Machine", "workers-1-a"), machineObject("AzureMachine", "workers-1-a"))
	return s
}

// TestTakeOver: what one management cluster had of a hosted cluster comes to another, the HostedCluster at last; what belongs to nobody but
// the former one, or to another cluster, stays away. A run that was interrupted goes on.
func TestTakeOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.yaml")
	create := &creation{target: of(former(t)), backupName: "monday", account: "account", container: "etcd", clientID: "writer", managementFile: file, timeout: time.Millisecond}
	var out bytes.Buffer
	if err := create.run(t.Context(), &out, silent); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if info, statErr := os.Stat(file); err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v, %v", err, statErr, info)
	}
	for _, absent := range []string{"stranger", "etcd-snapshot", "others", "former", "a.b/c", "desired-hash", "Running", "uid:", "name: pull-secret"} {
		if bytes.Contains(raw, []byte(absent)) {
			t.Errorf("the file has %q", absent)
		}
	}
	if strings.Contains(out.String(), canary) {
		t.Errorf("printed %q", out.String())
	}

	begin := func(s *site, change ...func(*restoration)) (string, error) {
		r := &restoration{target: of(s), managementFile: file, yes: true, validFor: time.Hour, timeout: time.Millisecond,
			ask: func() (bool, bool) { return false, false },
			sign: func(_ context.Context, _, address string, _ time.Time, _ time.Duration) (string, error) {
				return address + "?sig=topsecret", nil
			}}
		for _, f := range change {
			f(r)
		}
		var out bytes.Buffer
		err := r.run(t.Context(), &out, silent)
		return out.String(), err
	}
	fresh := newSite(t)
	if told, err := begin(fresh, func(r *restoration) { r.dryRun, r.yes = true, false }); err != nil || len(fresh.made) > 0 || !strings.Contains(told, "1 of them machines") {
		t.Errorf("a dry run: %v, made %v, printed %q", err, fresh.made, told)
	}
	for _, failAt := range []int{1, 3, 7, 11, 0} {
		s := newSite(t)
		s.failAt = failAt
		if _, err := begin(s); (err != nil) != (failAt > 0) {
			t.Fatalf("with creation %d lost: %v", failAt, err)
		}
		if slices.Contains(s.made, "HostedCluster") && failAt > 0 {
			t.Errorf("with creation %d lost the HostedCluster is there before all else is", failAt)
		}
		if failAt > 0 {
			if _, err := begin(s); err != nil {
				t.Fatalf("the run after creation %d was lost: %v", failAt, err)
			}
		}
		checkTaken(t, s)
		if _, err := begin(s); err == nil || !strings.Contains(err.Error(), "is on this management cluster") {
			t.Errorf("once more: %v", err)
		}
	}
}

func checkTaken(t *testing.T, s *site) {
	t.Helper()
	if got := s.made[len(s.made)-1]; got != "HostedCluster" {
		t.Errorf("made at last: %s, of %v", got, s.made)
	}
	hc := &hyperv1.HostedCluster{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
		t.Fatal(err)
	}
	if url := hc.Spec.Etcd.Managed.Storage.RestoreSnapshotURL; len(url) != 1 || !strings.HasSuffix(url[0], "monday.db?sig=topsecret") || hc.Spec.InfraID != "demo-x1" || len(hc.Finalizers) > 0 {
		t.Errorf("HostedCluster with %v: %+v", url, hc.ObjectMeta)
	}
	for name, namespace := range map[string]string{"demo-pull": "clusters", "root-ca": "clusters-demo", "user-data-workers-1": "clusters-demo"} {
		found := &corev1.Secret{}
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil || string(found.Data["key"]) != canary+name || len(found.OwnerReferences) > 0 {
			t.Errorf("Secret %s: %v, %v", name, found.OwnerReferences, err)
		}
	}
	for _, kind := range machineKinds {
		if kind.Kind != "Machine" && kind.Kind != "AzureMachine" {
			continue
		}
		found := clusterapi.New(kind, "", "")
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: "workers-1-a"}, found); err != nil {
			t.Fatal(err)
		}
		id, _, _ := unstructured.NestedString(found.Object, "spec", "providerID")
		if id != "azure:///vm/workers-1-a" || found.GetAnnotations()["kept"] != "yes" || len(found.GetOwnerReferences()) > 0 {
			t.Errorf("%s: %+v", kind.Kind, found.Object)
		}
	}
}

// TestTakeOverRefuses: what would not work, or would destroy something, is refused before anything is written.
func TestTakeOverRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.yaml")
	save := func(change func(*hyperv1.HostedCluster)) error {
		create := &creation{target: of(former(t, change)), backupName: "monday", account: "account", container: "etcd", clientID: "writer", managementFile: file, timeout: time.Millisecond}
		return create.run(t.Context(), &bytes.Buffer{}, silent)
	}
	refuses(t, "without host names", save(func(hc *hyperv1.HostedCluster) {
		hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}}}
	}), "publishes APIServer without a host name")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("a file was written")
	}
	if err := save(func(*hyperv1.HostedCluster) {}); err != nil {
		t.Fatal(err)
	}
	space := func(annotations map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo", Annotations: annotations}}
	}
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, row := range map[string]struct {
		site   *site
		change func(*restoration)
	}{
		"does not exist":                 {newSite(t), func(r *restoration) { r.managementFile += "x" }},
		"is no file of":                  {newSite(t), func(r *restoration) { r.managementFile = broken }},
		"is that of HostedCluster":       {newSite(t), func(r *restoration) { r.name = "other" }},
		"give --yes":                     {newSite(t), func(r *restoration) { r.yes = false }},
		"--snapshot-url says":            {newSite(t), func(r *restoration) { r.managementFile, r.snapshotURL, r.yes = "", "https://a", false }},
		"is another cluster's":           {newSite(t, space(nil)), func(*restoration) {}},
		"or a former one's of this name": {newSite(t, space(map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo", hyperv1.HostedClusterUIDAnnotation: "former"})), func(*restoration) {}},
		"the credentials are somebody's": {newSite(t), func(r *restoration) {
			r.sign = func(context.Context, string, string, time.Time, time.Duration) (string, error) {
				return "", errors.New("the credentials are somebody's")
			}
		}},
	} {
		r := &restoration{target: of(row.site), managementFile: file, yes: true, validFor: time.Hour, ask: func() (bool, bool) { return false, false },
			sign: func(_ context.Context, _, address string, _ time.Time, _ time.Duration) (string, error) {
				return address, nil
			}}
		row.change(r)
		err := r.run(t.Context(), &bytes.Buffer{}, silent)
		refuses(t, want, err, want)
		if len(row.site.made) > 0 || err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%s: made %v; %v", want, row.site.made, err)
		}
	}
}
