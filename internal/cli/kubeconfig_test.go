package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const testKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://api.example.com:7443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

func hostedCluster(name string, reported bool) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
	hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: &hyperv1.AzurePlatformSpec{SubnetID: "SUBNET"}}
	hc.Spec.Release.Image = "quay.io/release:1"
	if reported {
		hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: name + "-admin-kubeconfig"}
	}
	return hc
}

func kubeconfigSecret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name + "-admin-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": []byte(testKubeconfig)},
	}
}

func TestKubeconfigIsPrintedVerbatim(t *testing.T) {
	c := testClient(hostedCluster("a", true), kubeconfigSecret("a"), hostedCluster("b", false))
	var out, messages bytes.Buffer
	f := kubeconfigFlags{name: "a", namespace: "clusters"}
	if err := f.run(context.Background(), c, &out, &messages); err != nil || out.String() != testKubeconfig {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	f.name = "b"
	if err := f.run(context.Background(), c, &out, &messages); err == nil || !strings.Contains(err.Error(), "doesn't report a kubeconfig") {
		t.Errorf("a cluster without kubeconfig: %v", err)
	}
}

func TestMergedKubeconfigSkipsWhatIsNotReady(t *testing.T) {
	c := testClient(hostedCluster("a", true), kubeconfigSecret("a"), hostedCluster("b", false), hostedCluster("d", true), kubeconfigSecret("d"))
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

func TestCreateNodePool(t *testing.T) {
	ctx := context.Background()
	c := testClient(hostedCluster("demo", true))
	f := &nodePoolFlags{}
	f.Name, f.Namespace, f.ClusterName, f.Arch, f.Replicas = "extra", "clusters", "demo", "amd64", 3
	var out bytes.Buffer
	if err := f.run(ctx, c, &out, &out); err != nil || out.String() != "NodePool extra created\n" {
		t.Fatalf("%q, %v", out.String(), err)
	}
	np := &hyperv1.NodePool{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "clusters", Name: "extra"}, np); err != nil {
		t.Fatal(err)
	}
	if np.Spec.Platform.Azure.SubnetID != "SUBNET" || np.Spec.Release.Image != "quay.io/release:1" || *np.Spec.Replicas != 3 {
		t.Errorf("the pool does not take after its cluster: %+v", np.Spec)
	}
	if err := f.run(ctx, c, &out, &out); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("the second time: %v", err)
	}
	f.ClusterName = "nobody"
	if err := f.run(ctx, c, &out, &out); err == nil {
		t.Error("a pool of a cluster that does not exist was created")
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
