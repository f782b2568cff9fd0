package kubeclient

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: '" + server + "'}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The shell's proxy leads to the embedded Azure or to the outside. The API server of the sandbox is behind neither.
func TestNoProxy(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	asked := make(chan string, 10)
	go func() {
		for {
			c, err := proxy.Accept()
			if err != nil {
				return
			}
			line := make([]byte, 200)
			n, _ := c.Read(line)
			asked <- string(line[:n])
			_ = c.Close()
		}
	}()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} { // nothing has read them yet in this process
		t.Setenv(name, "http://"+proxy.Addr().String())
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	for _, server := range []string{"https://192.0.2.1:6443", "http://192.0.2.1:8080"} { // no host has that address, and a proxy is not left out for it
		k, err := New(kubeconfig(t, server))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = k.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).List(ctx, metav1.ListOptions{})
		cancel()
		if err == nil {
			t.Errorf("%s answers", server)
		}
		select {
		case line := <-asked:
			t.Errorf("%s is asked for at the proxy: %q", server, line)
		default:
		}
	}
}

func TestBrokenKubeconfig(t *testing.T) {
	if _, err := New(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Whoever follows objects hears of each that is there and of each that goes, though the news of its end were missed; what is no object is passed over.
func TestHandler(t *testing.T) {
	object := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
	}
	var heard []string
	note := func(what string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { heard = append(heard, what+" "+o.GetName()) }
	}
	h := Handler(note("set"), note("gone"))
	h.OnAdd(object("a"), false)
	h.OnUpdate(object("a"), object("b"))
	h.OnDelete(object("c"))
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "d", Obj: object("d")})
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "e", Obj: "nothing"})
	Handler(note("set"), nil).OnDelete(object("f"))
	if want := []string{"set a", "set b", "gone c", "gone d"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, want %q", heard, want)
	}
}
