package endpointresolver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func pod(namespace, name, app, ip string, phase corev1.PodPhase, ready corev1.ConditionStatus) client.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Status: corev1.PodStatus{Phase: phase, PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
}

// TestResolve: the answer has the pods of the labels and the namespace that run and are ready; whoever asks for all of them, or for nothing, is
// refused.
func TestResolve(t *testing.T) {
	pods := fake.NewClientBuilder().WithObjects(
		pod("plane", "b", "etcd", "10.0.0.2", corev1.PodRunning, corev1.ConditionTrue), pod("plane", "a", "etcd", "10.0.0.1", corev1.PodRunning, corev1.ConditionTrue),
		pod("plane", "starting", "etcd", "10.0.0.3", corev1.PodRunning, corev1.ConditionFalse), pod("plane", "done", "etcd", "10.0.0.4", corev1.PodSucceeded, corev1.ConditionTrue),
		pod("plane", "other", "kube-apiserver", "10.0.0.5", corev1.PodRunning, corev1.ConditionTrue), pod("plane2", "c", "etcd", "10.0.0.6", corev1.PodRunning, corev1.ConditionTrue),
	).Build()
	away := interceptor.NewClient(pods, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("away")
	}})
	for name, test := range map[string]struct {
		reader       client.Reader
		method, body string
		code         int
		want         string
	}{
		"those that serve":  {pods, http.MethodPost, `{"selector":{"app":"etcd"}}`, http.StatusOK, `{"pods":[{"name":"a","ip":"10.0.0.1"},{"name":"b","ip":"10.0.0.2"}]}`},
		"none":              {pods, http.MethodPost, `{"selector":{"app":"nobody"}}`, http.StatusOK, `{"pods":[]}`},
		"all":               {pods, http.MethodPost, `{"selector":{}}`, http.StatusBadRequest, "selector is empty"},
		"no JSON":           {pods, http.MethodPost, `selector`, http.StatusBadRequest, "no JSON"},
		"too long":          {pods, http.MethodPost, `{"selector":{"app":"` + strings.Repeat("a", longest) + `"}}`, http.StatusBadRequest, "too large"},
		"read":              {pods, http.MethodGet, "", http.StatusMethodNotAllowed, ""},
		"the server's away": {away, http.MethodPost, `{"selector":{"app":"etcd"}}`, http.StatusBadGateway, "does not tell"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			Handler(test.reader, "plane").ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), test.method, Path, strings.NewReader(test.body)))
			if answer.Code != test.code || !strings.Contains(answer.Body.String(), test.want) {
				t.Errorf("%d %s, want %d %s", answer.Code, answer.Body, test.code, test.want)
			}
		})
	}
}
