package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/releasestream"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/preflight/preflighttest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestPreflightClusterRows: what preflight cluster alone looks at, each row provoked once.
func TestPreflightClusterRows(t *testing.T) {
	tally := preflighttest.New()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	there := surveytest.Cluster("demo")
	there.Spec.InfraID = "demo-x"
	operator := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "supported-versions", Labels: map[string]string{hyperv1.SupportedVersionsLabel: "true"}},
		Data: map[string]string{"supported-versions": `{"versions":["4.21"]}`, "server-version": buildinfo.Get().Commit}}
	other := operator.DeepCopy()
	other.Data["server-version"] = "another"
	for _, tc := range []struct {
		title   string
		objects []client.Object
		infraID string
		stream  string
		check   string
		status  preflight.Status
		word    string
	}{
		{"another build", []client.Object{other}, "", "", "build of the operator", preflight.Fail, "of revision"},
		{"the same build", []client.Object{operator}, "", "", "build of the operator", preflight.Pass, "of this program"},
		{"a name that is taken", []client.Object{there}, "demo-y", "", "name of the hosted cluster", preflight.Fail, "already exists"},
		{"a cluster that is there", []client.Object{there}, "demo-x", "", "name of the hosted cluster", preflight.Warn, "is this one"},
		{"a name that is free", nil, "", "", "name of the hosted cluster", preflight.Pass, "is free"},
		{"ranges of pods", []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.132.4.0/24"}}}}, "", "", "ranges of the management cluster", preflight.Fail, "10.132.4.0/24"},
		{"ranges of Services", []client.Object{&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.132.8.0/24"}}}}, "", "", "ranges of the management cluster", preflight.Fail, "10.132.8.0/24"},
		{"a stream that is not there", []client.Object{operator}, "", "4-none", "release stream 4-none", preflight.Fail, "404"},
		{"a stream without an operator", nil, "", "4-stable", "release stream 4-stable", preflight.Fail, "hypershift install"},
	} {
		t.Run(tc.title, func(t *testing.T) {
			l := &look{creation: creation{say: func(string, ...any) {}, releases: clitest.Releases{}, streams: &releasestream.Streams{HTTP: server.Client(), Address: func(string) string { return server.URL }}}}
			v := validated{}
			v.cluster.Networking.ClusterCIDRs = []string{"10.132.0.0/14"}
			if err := v.loadRanges(); err != nil {
				t.Fatal(err)
			}
			r := resolved{client: mayAll(surveytest.Client(tc.objects...)), cluster: v.cluster, infra: v.infra}
			r.cluster.Namespace, r.cluster.Name, r.infra.InfraID = "clusters", "demo", tc.infraID
			r.typed.versionCheck, r.typed.releaseStream = true, tc.stream
			checks, err := l.atManagement(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			payload, _ := l.atRelease(t.Context(), r)
			checks = append(checks, payload...)
			tally.Found(t, checks)
			if err := told(checks, tc.check, tc.status, tc.word); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a payload without programs", func(t *testing.T) {
		l, r := &look{creation: creation{say: func(string, ...any) {}}}, resolved{}
		for fips, status := range map[bool]preflight.Status{true: preflight.Fail, false: preflight.Pass} {
			r.cluster.FIPS = fips
			check := l.atPrograms(r, &release.Release{Images: map[string]string{"hyperkube": "x"}})
			tally.Found(t, []preflight.Check{check})
			if check.Status != status || fips != strings.Contains(check.Detail, "--fips") {
				t.Errorf("with fips %t: %+v", fips, check)
			}
		}
	})
	tally.Complete(t, preflight.AtCluster)
}

// mayAll is a management cluster that allows whatever it is asked about.
func mayAll(b *fake.ClientBuilder) client.Client {
	return b.WithInterceptorFuncs(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
		review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
		if !ok {
			return errors.New("something is written")
		}
		review.Status.Allowed = true
		return nil
	}}).Build()
}

// told is nil where the check says the word with that status.
func told(checks []preflight.Check, name string, status preflight.Status, word string) error {
	var all []string
	for _, c := range checks {
		if c.Name == name && c.Status == status && strings.Contains(c.Detail, word) {
			return nil
		}
		all = append(all, c.Name+" "+string(c.Status)+": "+c.Detail)
	}
	return errors.New("want " + name + " to " + string(status) + " with " + word + ", got\n" + strings.Join(all, "\n"))
}
