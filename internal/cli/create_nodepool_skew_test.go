package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// tagged takes the tag of an image for its version.
type tagged struct{}

func (tagged) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	_, version, _ := strings.Cut(image, ":")
	if version == "absent" {
		return nil, &release.Error{Image: image, Reason: release.ReasonUnreachable}
	}
	return &release.Release{Image: image, Version: version}, nil
}

// A node pool that its cluster could not serve is not made.
func TestNodePoolFitsItsCluster(t *testing.T) {
	hc := hostedCluster("demo", false)
	hc.Spec.PullSecret.Name = "pull"
	hc.Status.Version = &hyperv1.ClusterVersionStatus{History: []hyperv1.UpdateHistory{{State: hyperv1.PartialUpdate, Version: "4.22.0"}, {State: hyperv1.CompletedUpdate, Version: "4.21.0"}}}
	for _, tc := range []struct{ version, refusal, warning string }{
		{"4.21.0", "", ""}, {"4.18.9", "", ""}, {"4.22.0", "cannot be higher than", ""}, {"4.21.1", "cannot be higher than", ""}, {"4.17.0", "is less than", ""},
		{"absent", "", "cannot see which version"},
	} {
		c := testClient(hc.DeepCopy(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "pull"}})
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
