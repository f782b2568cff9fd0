package nodepool

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// tagged takes the tag of an image for its version.
type tagged struct{}

func (tagged) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	_, version, _ := strings.Cut(image, ":")
	if version == "absent" {
		return nil, &release.Error{Image: image, Reason: release.ReasonUnreachable}
	}
	found := &release.Release{Image: image, Version: strings.TrimSuffix(version, "-openshift")}
	if found.Version != version {
		found.Images = map[string]string{"machine-config-operator": "x"}
	}
	return found, nil
}

// withPullSecret are a hosted cluster and its pull secret.
func withPullSecret(hc *hyperv1.HostedCluster) []client.Object {
	hc.Spec.PullSecret.Name = "pull"
	return []client.Object{hc, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "pull"}}}
}

// A node pool that its cluster could not serve is not made.
func TestNodePoolFitsItsCluster(t *testing.T) {
	hc := clitest.HostedCluster("demo", false)
	hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.22.0"}, {State: hyperv1.CompletedUpdate, Version: "4.21.0"}}}
	for _, tc := range []struct{ version, refusal, warning string }{
		{"4.21.0", "", ""}, {"4.18.9", "", ""}, {"4.22.0", "cannot be higher than", ""}, {"4.21.1", "cannot be higher than", ""}, {"4.17.0", "is less than", ""},
		{"absent", "", "cannot see from here whether the payload of --release-image can run"},
		{"4.21.0-openshift", "", ""},
	} {
		c := clitest.Client(withPullSecret(hc.DeepCopy())...)
		var out, messages bytes.Buffer
		f := &nodePoolFlags{releases: tagged{}}
		f.Name, f.Namespace, f.ClusterName, f.Arch, f.ReleaseImage = "big", "clusters", "demo", "amd64", "quay.io/release:"+tc.version
		err := f.run(t.Context(), c, &out, &messages)
		if (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(messages.String(), tc.warning) {
			t.Errorf("%s: %v, %s", tc.version, err, messages.String())
		}
		made := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "big"}, &hyperv1.NodePool{}) == nil
		if made != (tc.refusal == "") {
			t.Errorf("%s: made is %v", tc.version, made)
		}
	}
}

func TestCreateNodePool(t *testing.T) {
	ctx := context.Background()
	c := clitest.Client(withPullSecret(clitest.HostedCluster("demo", true))...)
	f := &nodePoolFlags{releases: clitest.Releases{}}
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

// A pool may follow its cluster's release, of either kind; what cannot be looked at is told.
func TestPoolOfItsClustersPayload(t *testing.T) {
	for _, tc := range []struct {
		image, warning string
		objects        func(*hyperv1.HostedCluster) []client.Object
	}{
		{"quay.io/release:4.21.0-openshift", "", withPullSecret},
		{"quay.io/release:4.21.0", "read pull secret", func(hc *hyperv1.HostedCluster) []client.Object { return withPullSecret(hc)[:1] }},
	} {
		hc := clitest.HostedCluster("demo", false)
		hc.Spec.Release.Image = tc.image
		c := clitest.Client(tc.objects(hc)...)
		var out, messages bytes.Buffer
		f := &nodePoolFlags{releases: tagged{}}
		f.Name, f.Namespace, f.ClusterName, f.Arch = "big", "clusters", "demo", "amd64"
		err := f.run(t.Context(), c, &out, &messages)
		if err != nil || !strings.Contains(messages.String(), tc.warning) || (messages.Len() > 0) != (tc.warning != "") {
			t.Errorf("%s: %v, %s", tc.image, err, messages.String())
		}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "big"}, &hyperv1.NodePool{}); err != nil {
			t.Errorf("%s: %v", tc.image, err)
		}
	}
}

// Machines of an architecture that the payload is not for would boot nothing.
func TestNodePoolArchitecture(t *testing.T) {
	for arch, refusal := range map[string]string{"AMD64": "--arch arm64 is not supported by the HostedCluster payload type AMD64", "ARM64": "", "Multi": "", "": ""} {
		hc := clitest.HostedCluster("demo", false)
		hc.Status.PayloadArch = arch
		var out, messages bytes.Buffer
		f := &nodePoolFlags{releases: tagged{}}
		f.Name, f.Namespace, f.ClusterName, f.Arch, f.ReleaseImage = "arm", "clusters", "demo", "arm64", "quay.io/release:4.21.0"
		err := f.run(t.Context(), clitest.Client(withPullSecret(hc)...), &out, &messages)
		if (err != nil) != (refusal != "") || err != nil && !strings.Contains(err.Error(), refusal) {
			t.Errorf("payload for %q: %v", arch, err)
		}
	}
}
