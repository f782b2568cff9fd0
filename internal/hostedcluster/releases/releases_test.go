package releases

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
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
		err := (&look{Cluster: hosted}).allowed(t.Context(), "another", &release.Release{Version: c.version, Images: c.images})
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.title, err)
		}
	}
}

// TestUpgradeIsTakenBack: over a minor version until etcd or the API server runs the newer one, within one always.
func TestUpgradeIsTakenBack(t *testing.T) {
	images := map[string]string{release.KeyHypershift: "x"}
	for _, key := range release.Required(hyperv1.NonePlatform) {
		images[key] = "x"
	}
	history := func(newest, version string) []hyperv1.UpdateHistory {
		return []hyperv1.UpdateHistory{
			{State: hyperv1.PartialUpdate, Version: version, Image: newest}, {State: hyperv1.CompletedUpdate, Version: "4.21.3", Image: "old"}}
	}
	annotated := map[string]string{hyperv1.ReleaseImageAnnotation: "new"}
	etcd := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: contract.Etcd}}
	etcd.Spec.Template.Annotations = annotated
	server := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: contract.APIServer}}
	server.Spec.Template.Annotations = annotated
	for title, c := range map[string]struct {
		history []hyperv1.UpdateHistory
		runs    []client.Object
		to      string
		want    string
	}{
		"nothing runs the newer one":     {history("new", "4.22.0"), nil, "4.21.3", ""},
		"etcd runs it":                   {history("new", "4.22.0"), []client.Object{etcd}, "4.21.3", "release 4.21.3 is older than 4.22.0, which runs"},
		"the API server runs it":         {history("new", "4.22.0"), []client.Object{server}, "4.21.3", "cannot be taken back"},
		"a newer patch level of it":      {history("new", "4.22.0"), []client.Object{etcd}, "4.22.1", ""},
		"of the same minor version":      {history("new", "4.21.9"), []client.Object{etcd}, "4.21.3", ""},
		"what was given up is not asked": {history("other", "4.22.0"), []client.Object{etcd}, "4.21.3", ""},
		"wholly rolled out":              {history("new", "4.21.9")[1:], []client.Object{etcd}, "4.20.0", "release 4.20.0 is older than 4.21.3"},
	} {
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
		hc.Spec.Platform.Type, hc.Spec.Release.Image = hyperv1.NonePlatform, "old"
		hc.Status.Version = &hyperv1.ClusterVersionStatus{History: c.history}
		hosted := hostedclustertest.At(hc)
		hosted.Client = surveytest.Client(c.runs...).Build()
		err := (&look{Cluster: hosted}).allowed(t.Context(), "old", &release.Release{Version: c.to, Images: images})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", title, err, c.want)
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
