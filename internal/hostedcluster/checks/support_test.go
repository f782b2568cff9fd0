package checks

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/management"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/projection"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
	"github.com/hypershift-on-azure/hypershift/internal/support"
	"github.com/hypershift-on-azure/hypershift/internal/support/table"
)

// plain is a payload of Kubernetes.
var plain = &release.Release{Images: map[string]string{"hyperkube": "x"}}

func TestUnsupported(t *testing.T) {
	route := []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Ignition, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}}}
	managed := &hyperv1.AzurePlatformSpec{AzureAuthenticationConfig: hyperv1.AzureAuthenticationConfiguration{AzureAuthenticationConfigType: hyperv1.AzureManagedIdentities}}
	for title, c := range map[string]struct {
		spec   hyperv1.HostedClusterSpec
		routes bool
		want   string
	}{
		"AWS":                {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform}}, true, "Platform AWS"},
		"managed identities": {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.AzurePlatform, Azure: managed}}, true, "Managed identities"},
		"no routes":          {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}, Services: route}, false, "route.openshift.io"},
		"fine":               {hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: hyperv1.NonePlatform}, Services: route}, true, ""},
	} {
		got := support.Join(unsupported(&hyperv1.HostedCluster{Spec: c.spec}, management.Capabilities{Routes: c.routes}, plain))
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", title, got, c.want)
		}
	}
}

// TestRunningClustersAreKeptUp: what a control plane was made with is told of and stops nothing. What would be new for it is refused.
func TestRunningClustersAreKeptUp(t *testing.T) {
	for name, test := range map[string]struct{ before, after bool }{"made with it": {true, true}, "changed to it": {false, true}, "without it": {false, false}} {
		c := hostedclustertest.At(hostedclustertest.Cluster("kept", "image"))
		c.Hosted.Spec.FIPS = test.after
		hcp := projection.Desired(c.Hosted)
		hcp.Spec.FIPS = test.before
		err := Support(c, hcp, management.Capabilities{Routes: true}, plain)
		var stopped *steps.Stopped
		if stops := errors.As(err, &stopped); stops != (test.after && !test.before) || (err != nil && !stops) {
			t.Errorf("%s: %v", name, err)
		}
		condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.SupportedHostedCluster)
		if (condition.Status == metav1.ConditionTrue) == test.after {
			t.Errorf("%s: %+v", name, condition)
		}
		if test.before && !strings.Contains(condition.Message, "kept up") {
			t.Errorf("%s: %s", name, condition.Message)
		}
	}
}

// What a payload may have a program for is refused, or not, by the payload: until it is read, nothing new is said to be supported, nothing refused, and
// what runs says what it said. What no payload acts on is refused at once.
func TestSupportByPayload(t *testing.T) {
	openShift := &release.Release{Images: map[string]string{"machine-config-operator": "x"}}
	for name, test := range map[string]struct {
		runs, autoNode bool
		payload        *release.Release
		stops          bool
		status         metav1.ConditionStatus
		says           string
	}{
		"Kubernetes":               {payload: plain, stops: true, status: metav1.ConditionFalse, says: "spec.fips"},
		"OpenShift":                {payload: openShift, status: metav1.ConditionTrue},
		"OpenShift, and Karpenter": {payload: openShift, autoNode: true, stops: true, status: metav1.ConditionFalse, says: "spec.autoNode"},
		"not read":                 {stops: true, status: metav1.ConditionUnknown, says: "spec.fips is known once the release is read"},
		"not read, and Karpenter":  {autoNode: true, stops: true, status: metav1.ConditionFalse, says: "spec.autoNode"},
		"not read, runs with it":   {runs: true, status: metav1.ConditionTrue, says: "as before"},
	} {
		c := hostedclustertest.At(hostedclustertest.Cluster("payload", "image"))
		c.Conditions().True(hyperv1.SupportedHostedCluster, hyperv1.AsExpectedReason, "It is as before.")
		c.Hosted.Spec.FIPS = true
		if test.autoNode {
			c.Hosted.Spec.AutoNode = &runtime.RawExtension{Raw: []byte(`{"karpenter":{"platform":"AWS"}}`)}
		}
		var hcp *hyperv1.HostedControlPlane
		if test.runs {
			hcp = projection.Desired(c.Hosted)
		}
		err := Support(c, hcp, management.Capabilities{Routes: true}, test.payload)
		var stopped *steps.Stopped
		if stops := errors.As(err, &stopped); stops != test.stops || (err != nil && !stops) {
			t.Errorf("%s: %v", name, err)
		}
		condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.SupportedHostedCluster)
		if condition.Status != test.status || !strings.Contains(condition.Message, test.says) {
			t.Errorf("%s: %+v", name, condition)
		}
	}
}

// TestEveryInertAnnotationIsTold compares the rules with the table, and sees the warning.
func TestEveryInertAnnotationIsTold(t *testing.T) {
	rows, err := table.Load("annotations")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range rows {
		for _, key := range row.For {
			if row.Inert == "" || row.Seen != hyperv1.ValidHostedClusterConfiguration {
				continue
			}
			listed[key] = true
			c := hostedclustertest.At(hostedclustertest.Cluster("annotated", "image"))
			c.Hosted.Annotations = map[string]string{key: "x", key + "/y": "x"}
			c.Conditions().True(hyperv1.ValidHostedClusterConfiguration, hyperv1.AsExpectedReason, "Valid.")
			Inert(c, plain)
			if condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.ValidHostedClusterConfiguration); !strings.Contains(condition.Message, "annotation "+key) {
				t.Errorf("%s is not told: %s", key, condition.Message)
			}
		}
	}
	for _, key := range support.InertAnnotations() {
		if !listed[key] {
			t.Errorf("annotation %s is told as without effect, but annotations.yaml says otherwise", key)
		}
	}
}
