package prober

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a guest must have before a program of OpenShift's starts is waited for until it is there.
func TestWaitsForWhatIsInTheGuest(t *testing.T) {
	const pods = "/api/v1/namespaces/openshift-dns-operator/pods"
	for name, c := range map[string]struct {
		options Options
		path    string
		answers []string
	}{
		"infrastructure": {Options{Infrastructure: true}, "/apis/config.openshift.io/v1/infrastructures/cluster",
			[]string{`{}`, `{"status":{"infrastructureName":""}}`, `{"status":{"infrastructureName":"demo-x1"}}`}},
		"pods": {Options{PodsGone: []string{"openshift-dns-operator/name=dns-operator"}}, pods,
			[]string{`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"former"}}]}`, `{"kind":"PodList","apiVersion":"v1","items":[]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != c.path || c.path == pods && r.URL.Query().Get("labelSelector") != "name=dns-operator" {
					t.Errorf("request %s", r.URL)
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, c.answers[min(int(calls.Add(1)), len(c.answers))-1])
			}))
			defer server.Close()
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			text := strings.ReplaceAll(`{"clusters":[{"name":"a","cluster":{"server":"SERVER"}}],"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`, "SERVER", server.URL)
			if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c.options.Kubeconfig = kubeconfig
			if err := Run(context.Background(), c.options); err != nil || int(calls.Load()) != len(c.answers) {
				t.Errorf("%v after %d calls", err, calls.Load())
			}
		})
	}
}

// A pod that has been ending for long is not waited for: nobody hears of its node.
func TestPodsOfLostNodesAreGone(t *testing.T) {
	now := time.Now()
	ending := func(since time.Duration) []corev1.Pod {
		deleted := metav1.NewTime(now.Add(-since))
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "one", DeletionTimestamp: &deleted}}}
	}
	if stillThere(ending(9*time.Minute), now) == nil || stillThere(ending(11*time.Minute), now) != nil {
		t.Error("ten minutes are not the limit")
	}
}

func TestMalformedLabelsAreRefused(t *testing.T) {
	for _, labelled := range []string{"name=dns", "ns/", "/name=dns", "ns/a=b=c"} {
		if err := Run(context.Background(), Options{Kubeconfig: "k", PodsGone: []string{labelled}}); err == nil || !strings.Contains(err.Error(), "namespace/key=value") {
			t.Errorf("%q: %v", labelled, err)
		}
	}
}
