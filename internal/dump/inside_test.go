package dump_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/dump"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// guest is a hosted cluster with what the system and what a user has in it.
func guest(broken bool) func(context.Context, *hyperv1.HostedCluster) (*dump.Source, error) {
	named := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "s"}, Data: map[string][]byte{"k": []byte(canary)}}
	builder := surveytest.Client(named("kube-system"), named("openshift-dns"), named("theirs"), pod("kube-system", "coredns"), pod("openshift-dns", "resolver"), pod("theirs", "theirs"), secret,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	if broken {
		builder = builder.WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.NamespaceList); ok {
				return errors.New("the API server is overloaded")
			}
			return c.List(ctx, list, opts...)
		}})
	}
	wide := func(group, kind, resource string) dump.Kind {
		return dump.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Resource: resource, Wide: true}
	}
	source := &dump.Source{Client: builder.Build(), Kinds: append(kinds(), wide("", "Node", "nodes"), wide("storage.k8s.io", "CSINode", "csinodes"), wide("theirs.example.com", "Their", "theirs")),
		Log: func(context.Context, string, string, string, bool) (string, error) { return "password: " + canary, nil }}
	return func(context.Context, *hyperv1.HostedCluster) (*dump.Source, error) { return source, nil }
}

// cloud answers with a machine and a network, and refuses disks.
type cloud struct{}

func (cloud) List(_ context.Context, path, _, _ string) ([]azure.Resource, error) {
	switch {
	case strings.HasSuffix(path, "/resourceGroups/demo-group/providers/Microsoft.Compute/virtualMachines"):
		return []azure.Resource{{Name: "demo-1", Properties: map[string]any{"provisioningState": "Failed", "userData": canary, "osProfile": map[string]any{"computerName": "demo-1", "customData": canary, "adminPassword": canary}}}}, nil
	case strings.HasSuffix(path, "/disks"):
		return nil, errors.New("AuthorizationFailed")
	}
	return nil, nil
}

func (cloud) Get(_ context.Context, id, _ string) (*azure.Resource, error) {
	return &azure.Resource{ID: id}, nil
}

// dumped are the files of a dump, and what was said of those that are left out.
func dumped(t *testing.T, what dump.What) (map[string]string, string) {
	t.Helper()
	what.Namespace, what.Name, what.Operator, what.Folder = "clusters", "demo", "hypershift", filepath.Join(t.TempDir(), "dump")
	var said strings.Builder
	what.Say = func(format string, args ...any) { said.WriteString(format + "\n") }
	hc := surveytest.Cluster("demo")
	hc.Spec.Platform.Azure.SecurityGroupID = "/subscriptions/s/resourceGroups/theirs/providers/Microsoft.Network/networkSecurityGroups/nsg"
	count, err := dump.Write(t.Context(), dump.Source{Client: surveytest.Client(hc).Build(), Kinds: kinds()}, what)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(what.Folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		relative, _ := filepath.Rel(what.Folder, path)
		if strings.Contains(string(raw), canary) {
			t.Errorf("%s has a secret:\n%s", relative, raw)
		}
		files[relative] = string(raw)
		return err
	})
	if err != nil || count != len(files) {
		t.Errorf("%d files are told of, %d are there, %v", count, len(files), err)
	}
	return files, said.String()
}

func under(files map[string]string, folder string) (names []string) {
	for name := range files {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

// TestInside: what the system has inside of a hosted cluster, nothing of its users, and no secret; a part that cannot be read is said.
func TestInside(t *testing.T) {
	files, _ := dumped(t, dump.What{Guest: guest(false)})
	want := []string{
		"cluster-scoped-resources/core/nodes.yaml", "cluster-scoped-resources/storage.k8s.io/csinodes.yaml", "namespaces/kube-system/core/pods.yaml",
		"namespaces/kube-system/pods/coredns/c/c/logs/current.log", "namespaces/kube-system/pods/coredns/c/c/logs/previous.log",
		"namespaces/openshift-dns/core/pods.yaml", "namespaces/openshift-dns/pods/resolver/c/c/logs/current.log", "namespaces/openshift-dns/pods/resolver/c/c/logs/previous.log",
	}
	if got := under(files, "hostedcluster-demo"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	files, said := dumped(t, dump.What{Guest: guest(true)})
	if got := under(files, "hostedcluster-demo"); len(got) != 2 || !strings.Contains(said, "left out") {
		t.Errorf("%v, %s", got, said)
	}
	refused := func(context.Context, *hyperv1.HostedCluster) (*dump.Source, error) { return nil, errors.New("no way") }
	if files, said := dumped(t, dump.What{Guest: refused}); len(under(files, "hostedcluster-demo")) > 0 || !strings.Contains(said, "left out") {
		t.Errorf("%s", said)
	}
}

// TestAzure: the resources as Azure has them, without what a machine was given at its start; of other groups what the cluster names.
func TestAzure(t *testing.T) {
	files, said := dumped(t, dump.What{Azure: cloud{}})
	if got := under(files, "azure"); !slices.Equal(got, []string{"security-group.yaml", "virtualMachines.yaml"}) {
		t.Errorf("%v", got)
	}
	if machines := files["azure/virtualMachines.yaml"]; !strings.Contains(machines, "provisioningState: Failed") || !strings.Contains(machines, "computerName: demo-1") {
		t.Errorf("%s", machines)
	}
	if strings.Count(said, "left out: %s") != 1 {
		t.Errorf("%s", said)
	}
}
