package releases

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func TestComponentImages(t *testing.T) {
	payload := &release.Release{Images: map[string]string{
		release.KeyHypershift: "payload/cpo", release.KeyClusterAPI: "payload/capi", release.KeyAzureProvider: "payload/capz",
	}}
	annotations := map[string]string{
		hyperv1.ControlPlaneOperatorImageAnnotation: "annotation/cpo", hyperv1.CAPIManagerImageAnnotation: "annotation/capi", hyperv1.CAPIProviderAzureImageAnnotation: "annotation/capz",
	}
	options := Options{OperatorImage: "own", ControlPlaneOperatorImage: "env/cpo", ClusterAPIImage: "env/capi", AzureProviderImage: "env/capz"}
	for title, c := range map[string]struct {
		annotations map[string]string
		options     Options
		payload     *release.Release
		want        string
	}{
		"annotation":  {annotations, options, payload, "annotation/cpo annotation/capi annotation/capz"},
		"environment": {nil, options, payload, "env/cpo env/capi env/capz"},
		"payload":     {nil, Options{OperatorImage: "own"}, payload, "payload/cpo payload/capi payload/capz"},
		"stand-in":    {nil, Options{OperatorImage: "own"}, &release.Release{}, "own  "},
	} {
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}
		helper, standsIn := c.options.HelperImage(hc, c.payload)
		got := strings.Join([]string{helper, c.options.ComponentImage(hc, c.payload, release.KeyClusterAPI), c.options.ComponentImage(hc, c.payload, release.KeyAzureProvider)}, " ")
		if got != c.want || standsIn != (title == "stand-in") {
			t.Errorf("%s: %s, want %s; stands in: %t", title, got, c.want, standsIn)
		}
	}
}

func TestReleaseAllowed(t *testing.T) {
	complete := map[string]string{release.KeyHypershift: "x"}
	for _, key := range release.Required(hyperv1.AzurePlatform) {
		complete[key] = "x"
	}
	without := func(keys ...string) map[string]string {
		images := map[string]string{}
		for key, image := range complete {
			images[key] = image
		}
		for _, key := range keys {
			delete(images, key)
		}
		return images
	}
	skip := map[string]string{hyperv1.SkipReleaseImageValidation: ""}
	for _, c := range []struct {
		title, version string
		images         map[string]string
		annotations    map[string]string
		platform       hyperv1.PlatformType
		want           string
	}{
		{title: "fine", version: "4.21.0", images: complete},
		{title: "too old", version: "4.13.9", images: complete, want: "4.14 to 5.1"},
		{title: "skipped", version: "5.2.0", images: complete, annotations: skip},
		{title: "too old to skip", version: "4.7.0", images: complete, annotations: skip, want: "4.8"},
		{title: "the operator stands in", version: "4.9.0", images: without(release.KeyHypershift), annotations: skip},
		{title: "no operator can stand in", version: "4.8.0", images: without(release.KeyHypershift), annotations: skip, want: "stand in"},
		{title: "lacks images", version: "4.21.0", images: without("etcd", "pod"), want: "no images for etcd, pod"},
		{title: "lacks Azure's", version: "4.21.0", images: without(release.KeyAzureProvider), want: release.KeyAzureProvider},
		{title: "an image of one's own", version: "4.21.0", images: without(release.KeyAzureProvider), annotations: map[string]string{hyperv1.CAPIProviderAzureImageAnnotation: "x"}},
		{title: "without Azure", version: "4.21.0", images: without(release.KeyAzureProvider, release.KeyClusterAPI), platform: hyperv1.NonePlatform},
	} {
		platform := c.platform
		if platform == "" {
			platform = hyperv1.AzurePlatform
		}
		hosted := hostedclustertest.At(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: platform}}})
		err := (&look{Cluster: hosted}).allowed("", &release.Release{Version: c.version, Images: c.images})
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.title, err)
		}
	}
}

func TestGateUpgrade(t *testing.T) {
	upgradeable := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: hyperv1.ClusterVersionUpgradeable, Status: status, Message: "an operator says no"}}
	}
	refused := upgradeable(metav1.ConditionFalse)
	force := func(image string) map[string]string {
		return map[string]string{hyperv1.ForceUpgradeToAnnotation: image}
	}
	for title, c := range map[string]struct {
		wanted       string
		conditions   []metav1.Condition
		annotations  map[string]string
		controlPlane *hyperv1.Release
		running      string
		allowed      bool
	}{
		"not reported":          {wanted: "4.22.0", allowed: true},
		"upgradeable":           {wanted: "4.22.0", conditions: upgradeable(metav1.ConditionTrue), allowed: true},
		"unknown":               {wanted: "4.22.0", conditions: upgradeable(metav1.ConditionUnknown), allowed: true},
		"z-stream":              {wanted: "4.21.1", conditions: refused, allowed: true},
		"minor":                 {wanted: "4.22.0", conditions: refused},
		"renumbered":            {wanted: "5.0.0", conditions: refused, running: "4.23.4"},
		"forced":                {wanted: "4.22.0", conditions: refused, annotations: force("new"), allowed: true},
		"forced to other":       {wanted: "4.21.1", conditions: refused, annotations: force("other")},
		"no need to force":      {wanted: "4.22.0", annotations: force("other"), allowed: true},
		"the control plane's":   {wanted: "4.22.0", conditions: refused, controlPlane: &hyperv1.Release{Image: "own"}, allowed: true},
		"forced beside its own": {wanted: "4.22.0", conditions: refused, controlPlane: &hyperv1.Release{Image: "own"}, annotations: force("other")},
	} {
		running := c.running
		if running == "" {
			running = "4.21.0"
		}
		hc := &hyperv1.HostedCluster{
			ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations},
			Spec:       hyperv1.HostedClusterSpec{Release: hyperv1.Release{Image: "new"}, ControlPlaneRelease: c.controlPlane},
			Status: hyperv1.HostedClusterStatus{Conditions: c.conditions, Version: &hyperv1.ClusterVersionStatus{
				Desired: hyperv1.VersionRelease{Image: "old"}, History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: running}}}},
		}
		blocked, err := GateUpgrade(hc, &release.Release{Version: c.wanted})
		if (err == nil) != c.allowed || (blocked == "") != c.allowed {
			t.Errorf("%s: %v, %q", title, err, blocked)
		}
	}
}
