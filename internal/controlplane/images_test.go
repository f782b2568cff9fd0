package controlplane

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/imagetest"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// twoReleases has one release for what runs beside the control plane and one for what runs in the guest, with the same keys.
type twoReleases struct{ keys []string }

const (
	managementImage = "quay.io/openshift-release-dev/ocp-release:5.0.9-x86_64"
	// guestVersion is one that has all catalogs; the control plane's has programs that are told of all images.
	guestVersion = testVersion
)

func (r twoReleases) Lookup(_ context.Context, image string, _ release.Access) (*release.Release, error) {
	of := &release.Release{Image: image, Digest: "sha256:guest", Version: guestVersion, Images: imagetest.Payload(table.GuestRelease, r.keys...)}
	if image == managementImage {
		of.Digest, of.Version, of.Images = "sha256:own", "5.0.9", imagetest.Payload(table.ControlPlaneRelease, r.keys...)
	}
	return of, nil
}

// guestKeys are images of OpenShift's that no component needs, and some name to their programs.
var guestKeys = []string{
	"haproxy-router-haproxy28", "haproxy-router-haproxy32", "docker-registry", "multus-cni", "container-networking-plugins", "network-interface-bond-cni",
	"multus-whereabouts-ipam-cni", "multus-route-override-cni", "multus-networkpolicy", "egress-router-cni", "network-metrics-daemon",
	"networking-console-plugin", "metallb-frr", "volume-data-source-validator", "cluster-cloud-controller-manager-operator",
}

// TestImages: every image of the payload that a component of a control plane with everything runs or names has its row, and the rows say
// how it is started.
func TestImages(t *testing.T) {
	uses := map[string][]table.ImageUse{}
	for kind, keys := range map[release.Kind][]string{
		release.KindKubernetes: append(slices.Clone(payload), "cluster-autoscaler"),
		release.KindOpenShift: slices.Concat(payload, openShiftOnly, guestKeys,
			[]string{"cluster-autoscaler", "machine-config-operator", "docker-builder", "deployer"}),
	} {
		f := newFixture(t)
		f.payload = table.Release{Kind: string(kind), Version: guestVersion}
		f.hcp = inNamespace("images-" + strings.ToLower(string(kind)))
		published[planeRouteHostname](f.hcp)
		openShiftPlanes[planeEncrypted](f.hcp)
		own := managementImage
		f.hcp.Spec.ControlPlaneReleaseImage = &own
		f.reconciler.Releases = twoReleases{keys}
		f.beginOpenShift(etcdKey)
		f.publishedPasses()
		uses[string(kind)] = f.imageUses()
	}
	rows := imagetest.Merge(uses)
	imagetest.Check(t, "table/images-control-plane.yaml", rows, *update)
	for _, c := range components(publish.Endpoints{}) {
		for _, key := range c.ImageKeys {
			if !slices.ContainsFunc(rows, func(u table.ImageUse) bool { return u.Key == key && ofComponent(u, c) }) {
				t.Errorf("component %s says that it needs image %s, and uses it for nothing", c.Name, key)
			}
		}
	}
}

// ofComponent tells whether the user of an image is the component's workload, or a file of it.
func ofComponent(use table.ImageUse, c component.Component) bool {
	_, workload, _ := strings.Cut(use.User, "/")
	workload, _, _ = strings.Cut(workload, "/")
	return workload == c.Name || strings.HasPrefix(workload, c.Name+"-")
}

func (f *fixture) imageUses() []table.ImageUse {
	f.Helper()
	var uses []table.ImageUse
	workloads := f.workloads()
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		uses = append(uses, imagetest.Pod(name, workloads[name].template.Spec)...)
	}
	files := &corev1.ConfigMapList{}
	f.list(files)
	for _, file := range files.Items {
		uses = append(uses, imagetest.ConfigMap(file)...)
	}
	return uses
}
