package releasestream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
)

func TestReleaseStream(t *testing.T) {
	answers := map[string]string{
		"/amd64/api/v1/releasestream/4-stable/tags": `{"name":"4-stable","tags":[{"name":"4.21.2","pullSpec":"r:4.21.2"},{"name":"4.9.1","pullSpec":"r:4.9.1"},
			{"name":"4.21.10","pullSpec":"r:4.21.10"},{"name":"4.22.0-rc.1","pullSpec":"r:rc"},{"name":"6.0.0","pullSpec":"r:6"}]}`,
		"/multi/api/v1/releasestream/4-stable-multi/tags":            `{"name":"4.20.3","pullSpec":"r:multi"}`,
		"/amd64/api/v1/releasestream/nightly/tags":                   `{"tags":[{"name":"build-4.20-b","pullSpec":"r:b"},{"name":"build-4.20-c","pullSpec":"r:c"}]}`,
		"/amd64/api/v1/releasestream/old/tags":                       `{"tags":[{"name":"4.9.1","pullSpec":"r:4.9.1"}]}`,
		"/amd64/api/v1/releasestream/broken/tags":                    `<html>`,
		"/arm64/api/v1/releasestream/4-dev-preview-minor-arm64/tags": `{"tags":[{"name":"4.21.0","pullSpec":"r:arm"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	streams := &Streams{HTTP: server.Client(), Address: func(arch string) string { return server.URL + "/" + arch }}
	for stream, want := range map[string]string{
		"4-stable": "r:4.21.10", "4-stable-multi": "r:multi", "nightly": "r:c", "4-dev-preview-minor-arm64": "r:arm",
		"old": "no release that the operator runs", "broken": "no list of releases", "absent": "404",
	} {
		got, err := streams.Resolve(context.Background(), stream, []string{"4.22", "4.21", "4.20"})
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("stream %s: %q, want %q", stream, got, want)
		}
	}
}

func TestOperatorMinorsAndRevision(t *testing.T) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "supported-versions", Labels: map[string]string{hyperv1.SupportedVersionsLabel: "true"}},
		Data: map[string]string{"supported-versions": `{"versions":["4.22","4.21"]}`, "server-version": buildinfo.Get().Commit}}
	minors, err := management.OperatorMinors(context.Background(), clitest.Client(cm))
	if err != nil || strings.Join(minors, " ") != "4.22 4.21" {
		t.Errorf("minors %v, %v", minors, err)
	}
	if _, err := management.OperatorMinors(context.Background(), clitest.Client()); err == nil || !strings.Contains(err.Error(), "hypershift install") {
		t.Errorf("without an operator: %v", err)
	}
	if err := management.CheckServerVersion(context.Background(), clitest.Client(cm)); err != nil {
		t.Error(err)
	}
	cm.Data["server-version"] = "another"
	if err := management.CheckServerVersion(context.Background(), clitest.Client(cm)); err == nil || !strings.Contains(err.Error(), "revision") {
		t.Errorf("another revision: %v", err)
	}
	if err := management.CheckServerVersion(context.Background(), clitest.Client()); err == nil || !strings.Contains(err.Error(), "cannot read ConfigMap hypershift/supported-versions") {
		t.Errorf("no operator: %v", err)
	}
}
