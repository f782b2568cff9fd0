package kubeconfig

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
)

// An administrator who is led to the Service of another tenant shows it his token.
func TestPortForwardStaysWithItsTenant(t *testing.T) {
	run := func(owner string) (string, error) {
		hc := clitest.HostedCluster("dev-prod", true)
		hc.Namespace, hc.Spec.Platform.Azure.Topology = "acme", hyperv1.AzureTopologyPrivate
		secret := kubeconfigSecret("dev-prod")
		secret.Namespace = "acme"
		home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "acme-dev-prod", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: owner, hyperv1.HostedClusterUIDAnnotation: ""}}}
		var out, messages bytes.Buffer
		f := flags{name: "dev-prod", namespace: "acme", portForward: true}
		err := f.run(context.Background(), clitest.Client(hc, secret, home), &out, &messages)
		return out.String() + messages.String(), err
	}
	if said, err := run("acme-dev/prod"); err == nil || said != "" {
		t.Errorf("said %q, %v", said, err)
	}
	if said, err := run("acme/dev-prod"); err != nil || !strings.Contains(said, "kubectl -n acme-dev-prod port-forward") {
		t.Errorf("his own: said %q, %v", said, err)
	}
}
