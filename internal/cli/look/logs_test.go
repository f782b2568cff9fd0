package look

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	discoveryfake "k8s.io/client-go/discovery/fake"
	clientgotesting "k8s.io/client-go/testing"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

func component(namespace, name, label, value string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{label: value}}}
	for _, container := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: container})
	}
	return p
}

// TestLogs: which containers are read, with what, and what is said of those that are not there.
func TestLogs(t *testing.T) {
	c := surveytest.Client(surveytest.Cluster("demo"), surveytest.Cluster("taken"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-taken", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "other/taken"}}},
		component("clusters-demo", "etcd-0", hyperv1.ControlPlaneComponentLabel, "etcd", "etcd", "metrics"),
		component("clusters-demo", "kube-scheduler-1", "app", "kube-scheduler", "kube-scheduler"),
		component("hypershift", "operator-1", "name", "operator", "operator")).Build()
	for _, tc := range []struct {
		name, cluster, component, want, refusal string
		change                                  func(*logReader)
	}{
		{name: "--cluster", cluster: "demo", component: "kube-scheduler", want: "log of clusters-demo/kube-scheduler-1/kube-scheduler 200 false false\n"},
		{name: "several containers", cluster: "demo", component: "etcd", want: "[etcd-0/etcd] log of clusters-demo/etcd-0/etcd 200 false false\nno log of etcd-0/metrics: never ran\n"},
		{name: "--container", cluster: "demo", component: "etcd", want: "log of clusters-demo/etcd-0/etcd 200 false false\n", change: func(l *logReader) { l.container = "etcd" }},
		{name: "--tail --follow --previous", cluster: "demo", component: "kube-scheduler", want: "log of clusters-demo/kube-scheduler-1/kube-scheduler 5 true true\n",
			change: func(l *logReader) { l.tail, l.follow, l.previous = 5, true, true }},
		{name: "all lines", cluster: "demo", component: "kube-scheduler", want: "log of clusters-demo/kube-scheduler-1/kube-scheduler -1 false false\n", change: func(l *logReader) { l.tail = -1 }},
		{name: "--operator-namespace", component: "operator", want: "log of hypershift/operator-1/operator 200 false false\n"},
		{name: "a typo", cluster: "demo", component: "ectd", refusal: "there is no component ectd; did you mean etcd?; there are: etcd, kube-scheduler"},
		{name: "a typo of the container", cluster: "demo", component: "etcd", refusal: "--container metrisc: component etcd has no such container; did you mean metrics?", change: func(l *logReader) { l.container = "metrisc" }},
		{name: "a typo of the cluster", cluster: "dmeo", component: "etcd", refusal: "did you mean demo?"},
		{name: "no log at all", cluster: "demo", component: "etcd", refusal: "no container of the component has such a log", change: func(l *logReader) { l.container = "metrics" }},
		{name: "somebody else's namespace", cluster: "taken", component: "etcd", refusal: "is not this cluster's"},
		{name: "no operator", component: "operator", refusal: "nothing runs in namespace empty", change: func(l *logReader) { l.operatorNamespace = "empty" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &logReader{cluster: tc.cluster, namespace: "clusters", operatorNamespace: "hypershift", tail: 200}
			l.open = func(_ context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
				if o.Container == "metrics" {
					return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Message: "never ran"}}
				}
				tail := "-1"
				if o.TailLines != nil {
					tail = map[int64]string{5: "5", 200: "200"}[*o.TailLines]
				}
				words := []string{"log of " + namespace + "/" + pod + "/" + o.Container, tail, map[bool]string{true: "true", false: "false"}[o.Follow], map[bool]string{true: "true", false: "false"}[o.Previous]}
				return io.NopCloser(strings.NewReader(strings.Join(words, " "))), nil
			}
			if tc.change != nil {
				tc.change(l)
			}
			var out bytes.Buffer
			err := l.run(t.Context(), c, tc.component, &out, &out)
			if (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) {
				t.Errorf("%v, want %q", err, tc.refusal)
			}
			if tc.refusal == "" && out.String() != tc.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), tc.want)
			}
		})
	}
}

// A dump asks for every kind that can be listed, once, and goes on when one group's server does not answer.
func TestKindsOfADump(t *testing.T) {
	known := &discoveryfake.FakeDiscovery{Fake: &clientgotesting.Fake{Resources: []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: []string{"list", "get"}}, {Name: "pods/log", Kind: "Pod", Namespaced: true, Verbs: []string{"list"}},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: []string{"create"}}, {Name: "nodes", Kind: "Node", Verbs: []string{"list"}}}},
	}}}
	kinds, err := kindsOf(discovery.ServerPreferredNamespacedResources(known))
	if err != nil || len(kinds) != 1 || kinds[0].Kind != "Pod" || kinds[0].Resource != "pods" {
		t.Errorf("%v, %v", kinds, err)
	}
	if _, err := kindsOf(discovery.ServerPreferredNamespacedResources(unanswered{known})); err == nil {
		t.Error("a management cluster that does not answer has no kinds")
	}
}

type unanswered struct {
	discovery.DiscoveryInterface
}

func (unanswered) ServerGroups() (*metav1.APIGroupList, error) { return nil, errors.New("no answer") }
