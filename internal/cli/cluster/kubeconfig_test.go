package cluster

import (
	"bytes"
	"context"
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
	f := kubeconfigFlags{name: "a", namespace: "clusters"}
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
	f := kubeconfigFlags{namespace: "clusters"}
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
		f := kubeconfigFlags{name: tc.flag}
		if err := f.takeName([]string{tc.argument}); (err != nil) != tc.refused || err == nil && f.name != tc.want {
			t.Errorf("--name %q and %q: %q, %v", tc.flag, tc.argument, f.name, err)
		}
	}
}
