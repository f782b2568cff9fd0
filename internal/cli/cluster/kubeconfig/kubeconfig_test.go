package kubeconfig

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

func kubeconfigSecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name + "-admin-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": []byte(clitest.Kubeconfig)},
	}
}

func TestKubeconfigIsPrintedVerbatim(t *testing.T) {
	c := clitest.Client(clitest.HostedCluster("a", true), kubeconfigSecret("a"), clitest.HostedCluster("b", false))
	var out, messages bytes.Buffer
	f := flags{name: "a", namespace: "clusters"}
	if err := f.run(context.Background(), c, &out, &messages); err != nil || out.String() != clitest.Kubeconfig {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	f.name = "b"
	if err := f.run(context.Background(), c, &out, &messages); err == nil || !strings.Contains(err.Error(), "doesn't report a kubeconfig") {
		t.Errorf("a cluster without kubeconfig: %v", err)
	}
}

func TestMergedKubeconfigSkipsWhatIsNotReady(t *testing.T) {
	c := clitest.Client(clitest.HostedCluster("a", true), kubeconfigSecret("a"), clitest.HostedCluster("b", false), clitest.HostedCluster("d", true), kubeconfigSecret("d"))
	var out, messages bytes.Buffer
	f := flags{namespace: "clusters"}
	if err := f.run(context.Background(), c, &out, &messages); err != nil {
		t.Fatal(err)
	}
	conf, err := clientcmd.Load(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(conf.Contexts) != 2 || conf.CurrentContext != "clusters-a" || conf.AuthInfos["clusters-d-admin"] == nil {
		t.Errorf("contexts %v, current %q", conf.Contexts, conf.CurrentContext)
	}
	if !strings.Contains(messages.String(), "skipping b") {
		t.Errorf("messages %q", messages.String())
	}
}

// The name may be typed as an argument; the same name twice is one.
func TestKubeconfigTakesAName(t *testing.T) {
	for _, tc := range []struct {
		flag, argument, want string
		refused              bool
	}{{"", "a", "a", false}, {"a", "a", "a", false}, {"b", "a", "", true}, {"", "", "", true}} {
		f := flags{name: tc.flag}
		if err := f.takeName([]string{tc.argument}); (err != nil) != tc.refused || err == nil && f.name != tc.want {
			t.Errorf("--name %q and %q: %q, %v", tc.flag, tc.argument, f.name, err)
		}
	}
}

// --merge adds a context beside what the file has, whose current context stays; run again it changes nothing.
func TestKubeconfigIsMerged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kube", "config")
	t.Setenv("KUBECONFIG", path)
	c := clitest.Client(clitest.HostedCluster("a", true), kubeconfigSecret("a"), clitest.HostedCluster("d", true), kubeconfigSecret("d"))
	var out bytes.Buffer
	merge := func(f flags) string {
		t.Helper()
		f.namespace, f.merge = "clusters", true
		if err := f.deliver(t.Context(), c, &out, &out); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	merge(flags{name: "a"}) // there was none
	if err := os.WriteFile(path, []byte(clitest.Kubeconfig), 0o644); err != nil {
		t.Fatal(err)
	}
	first := merge(flags{name: "a"})
	conf, err := clientcmd.Load([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	if conf.CurrentContext != "x" || conf.Contexts["x"] == nil || conf.Contexts["clusters-a"] == nil || conf.Clusters["clusters-a"].Server != "https://api.example.com:7443" || conf.AuthInfos["clusters-a-admin"].Token != "t" {
		t.Errorf("%s", first)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if again := merge(flags{name: "a"}); again != first {
		t.Error("the second time something changes")
	}
	if all := merge(flags{}); !strings.Contains(all, "clusters-d-admin") || !strings.Contains(out.String(), "kubectl --context clusters-d get nodes") {
		t.Errorf("%s\n%s", all, out.String())
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := flags{name: "a", namespace: "clusters", merge: true}
	if err := f.deliver(t.Context(), c, &out, &out); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}
