package addons

import (
	"flag"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/imagetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

var update = flag.Bool("update", false, "rewrite the table of images")

// operators are what an OpenShift payload has besides: what runs in its guest is theirs.
var operators = []string{"cluster-version-operator", "cluster-network-operator", "cluster-dns-operator", "cluster-ingress-operator", "cluster-storage-operator", "cluster-monitoring-operator", forwarderImage}

// TestImages: every image that an add-on runs in the guest has its row.
func TestImages(t *testing.T) {
	uses := map[string][]table.ImageUse{}
	for kind, more := range map[release.Kind][]string{release.KindKubernetes: nil, release.KindOpenShift: operators} {
		facts := guesttest.PlainFacts()
		keys := more
		facts.Forwarding = &inside.Forwarding{Host: "metrics.example.com", CA: "ca", Components: []string{"etcd"}}
		for key := range facts.Images {
			keys = append(keys, key)
		}
		facts.Images = imagetest.Payload(table.GuestRelease, keys...)
		for _, obj := range Objects(facts) {
			name := guesttest.TypeName(obj) + "/" + obj.GetNamespace() + "/" + obj.GetName()
			switch o := obj.(type) {
			case *appsv1.Deployment:
				uses[string(kind)] = append(uses[string(kind)], imagetest.Pod(name, o.Spec.Template.Spec)...)
			case *appsv1.DaemonSet:
				uses[string(kind)] = append(uses[string(kind)], imagetest.Pod(name, o.Spec.Template.Spec)...)
			case *corev1.ConfigMap:
				uses[string(kind)] = append(uses[string(kind)], imagetest.ConfigMap(*o)...)
			}
		}
	}
	imagetest.Check(t, "../../controlplane/table/images-guest.yaml", imagetest.Merge(uses), *update)
}
