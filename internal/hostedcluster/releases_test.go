package hostedcluster

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// TestBadPayloads sends a running cluster to payloads that it cannot run: each time the conditions say why, nothing is changed, and
// the repair of the payload is enough.
func TestBadPayloads(t *testing.T) {
	f := newFixture(t, "payloads")
	registry := releasetest.New(t)
	good := registry.PushPayload(t, "good", releasetest.Payload{Version: "4.21.0"})
	hc := f.cluster()
	hc.Spec.Release.Image = good
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.reconcile(t)
	f.complete(t, "4.21.0", good)

	for tag, c := range map[string]struct {
		payload *releasetest.Payload
		status  int
		reason  string
		message string
		missing bool
	}{
		"too-new":      {payload: &releasetest.Payload{Version: "5.2.0"}, reason: hyperv1.InvalidImageReason, message: "4.14 to 5.1"},
		"too-old":      {payload: &releasetest.Payload{Version: "4.13.9"}, reason: hyperv1.InvalidImageReason, message: "4.14 to 5.1"},
		"older":        {payload: &releasetest.Payload{Version: "4.20.9"}, reason: hyperv1.InvalidImageReason, message: "cannot be taken back"},
		"no-version":   {payload: &releasetest.Payload{Version: "latest"}, reason: hyperv1.InvalidImageReason, message: "semantic version"},
		"incomplete":   {payload: &releasetest.Payload{Version: "4.21.1", Without: []string{"etcd", "pod"}}, reason: hyperv1.InvalidImageReason, message: "etcd, pod", missing: true},
		"architecture": {payload: &releasetest.Payload{Version: "4.21.1", Architecture: "riscv64"}, reason: hyperv1.PayloadArchNotFoundReason, message: "riscv64"},
		"malformed":    {payload: &releasetest.Payload{References: "{"}, reason: hyperv1.InvalidImageReason, message: "image-references is not JSON"},
		"absent":       {reason: hyperv1.InvalidImageReason, message: "check repository and tag"},
		"refused":      {status: http.StatusUnauthorized, reason: hyperv1.InvalidImageReason, message: "pull secret"},
		"away":         {status: http.StatusTooManyRequests, reason: hyperv1.InvalidImageReason, message: "tried again"},
	} {
		t.Run(tag, func(t *testing.T) {
			if c.payload != nil {
				registry.PushPayload(t, tag, *c.payload)
			}
			registry.Answer(c.status)
			before := f.controlPlaneState(t)
			f.setRelease(t, registry.Reference(tag))
			_, err := f.reconciler.Reconcile(t.Context(), f.request)
			if transient := tag == "away"; (err != nil) != transient {
				t.Errorf("reconcile: %v", err)
			}
			hc := f.get(t)
			image := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidReleaseImage)
			if image == nil || image.Status != metav1.ConditionFalse || image.Reason != c.reason || !strings.Contains(image.Message, c.message) {
				t.Errorf("ValidReleaseImage %+v", image)
			}
			info := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidReleaseInfo)
			if missing := info.Status == metav1.ConditionFalse && info.Reason == hyperv1.MissingReleaseImagesReason && strings.Contains(info.Message, c.message); missing != c.missing {
				t.Errorf("ValidReleaseInfo %+v", info)
			}
			if after := f.controlPlaneState(t); after != before {
				t.Errorf("the control plane was changed from %q to %q", before, after)
			}

			registry.Answer(0)
			registry.PushPayload(t, tag, releasetest.Payload{Version: "4.21.1"})
			f.reconcile(t)
			if hc := f.get(t); !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.ValidReleaseImage) || f.controlPlane(t).Spec.ReleaseImage != registry.Reference(tag) {
				t.Errorf("after the repair the control plane has %s: %+v", f.controlPlane(t).Spec.ReleaseImage, meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidReleaseImage))
			}
		})
	}
}

// setRelease edits the HostedCluster as a user does.
func (f *fixture) setRelease(t *testing.T, image string) {
	t.Helper()
	hc := f.get(t)
	hc.Spec.Release.Image = image
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
}

// complete reports, as the control plane does, that a version runs.
func (f *fixture) complete(t *testing.T, version, image string) {
	t.Helper()
	hcp, now := f.controlPlane(t), metav1.Now()
	hcp.Status.VersionStatus = &hyperv1.ClusterVersionStatus{
		Desired: hyperv1.VersionRelease{Version: version, Image: image},
		History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, StartedTime: now, CompletionTime: &now, Version: version, Image: image}},
	}
	if err := f.client.Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
}

// controlPlaneState identifies what is written into the control plane's namespace.
func (f *fixture) controlPlaneState(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	f.read(t, namespace)
	objects := []client.Object{f.controlPlane(t), namespace, f.deployment(t, controlPlaneOperatorName), f.deployment(t, clusterAPIName)}
	var versions []string
	for _, obj := range objects {
		versions = append(versions, obj.GetName()+"@"+obj.GetResourceVersion())
	}
	return strings.Join(versions, " ")
}

// TestTwoReleases gives the control plane a payload of its own.
func TestTwoReleases(t *testing.T) {
	f := newFixture(t, "tworeleases")
	registry := releasetest.New(t)
	hc := f.cluster()
	hc.Spec.Release.Image = registry.PushPayload(t, "data", releasetest.Payload{Version: "4.21.0", Architecture: "arm64"})
	hc.Spec.ControlPlaneRelease = &hyperv1.Release{Image: registry.PushPayload(t, "control", releasetest.Payload{Version: "4.20.3"})}
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.reconcile(t)
	hc = f.get(t)
	condition := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidReleaseImage)
	if condition == nil || condition.Status != metav1.ConditionTrue || !strings.Contains(condition.Message, "4.20.3") || hc.Status.PayloadArch != release.ArchARM64 {
		t.Errorf("ValidReleaseImage %+v, architecture %s", condition, hc.Status.PayloadArch)
	}
	hcp := f.controlPlane(t)
	if hcp.Spec.ReleaseImage != registry.Reference("data") || hcp.Spec.ControlPlaneReleaseImage == nil || *hcp.Spec.ControlPlaneReleaseImage != registry.Reference("control") {
		t.Errorf("the control plane has %s and %v", hcp.Spec.ReleaseImage, hcp.Spec.ControlPlaneReleaseImage)
	}
	f.setRelease(t, registry.Reference("nowhere"))
	f.reconcile(t)
	if condition := meta.FindStatusCondition(f.get(t).Status.Conditions, hyperv1.ValidReleaseImage); condition.Status != metav1.ConditionFalse {
		t.Errorf("without the data plane's payload: %+v", condition)
	}
}

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
		p := newPass(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}})
		p.Options, p.release = c.options, c.payload
		got := strings.Join([]string{p.controlPlaneOperatorImage(), p.componentImage(release.KeyClusterAPI), p.componentImage(release.KeyAzureProvider)}, " ")
		if got != c.want {
			t.Errorf("%s: %s, want %s", title, got, c.want)
		}
	}
}

// The operator of a control plane learns of images and registries by its arguments.
func TestOverridesReachTheControlPlane(t *testing.T) {
	p := newPass(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hyperv1.ImageOverridesAnnotation: "etcd=mine:1,apiserver-network-proxy=mine:2"}}})
	p.KonnectivityImage, p.RegistryOverrides, p.mirrors = "operator:1", "quay.io/a=mirror/a", "quay.io=mirror"
	args := strings.Join(p.controlPlaneOperatorArgs(), " ")
	if !strings.HasSuffix(args, "--registry-overrides quay.io/a=mirror/a --image-overrides apiserver-network-proxy=operator:1,etcd=mine:1,apiserver-network-proxy=mine:2") {
		t.Errorf("arguments %s", args)
	}
	images, err := release.ParseImages(args[strings.LastIndex(args, " ")+1:])
	if err != nil || images[release.KeyKonnectivity] != "mine:2" {
		t.Errorf("images %v, %v", images, err)
	}
	if !slices.ContainsFunc(p.controlPlaneOperatorEnv(), func(e corev1.EnvVar) bool { return e.Name == release.MirrorsEnv && e.Value == "quay.io=mirror" }) {
		t.Error("the mirrors of the management cluster are not passed on")
	}
	plain := newPass(&hyperv1.HostedCluster{})
	plain.release = &release.Release{}
	if args := strings.Join(plain.controlPlaneOperatorArgs(), " "); strings.Contains(args, "overrides") {
		t.Errorf("arguments of a plain cluster %s", args)
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
		p := newPass(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: hyperv1.HostedClusterSpec{Platform: hyperv1.PlatformSpec{Type: platform}}})
		err := p.releaseAllowed("", &release.Release{Version: c.version, Images: c.images})
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.title, err)
		}
	}
}

func TestGateUpgrade(t *testing.T) {
	upgradeable := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: hyperv1.ClusterVersionUpgradeable, Status: status, Message: "an operator says no"}}
	}
	blocked := upgradeable(metav1.ConditionFalse)
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
		"z-stream":              {wanted: "4.21.1", conditions: blocked, allowed: true},
		"minor":                 {wanted: "4.22.0", conditions: blocked},
		"renumbered":            {wanted: "5.0.0", conditions: blocked, running: "4.23.4"},
		"forced":                {wanted: "4.22.0", conditions: blocked, annotations: force("new"), allowed: true},
		"forced to other":       {wanted: "4.21.1", conditions: blocked, annotations: force("other")},
		"no need to force":      {wanted: "4.22.0", annotations: force("other"), allowed: true},
		"the control plane's":   {wanted: "4.22.0", conditions: blocked, controlPlane: &hyperv1.Release{Image: "own"}, allowed: true},
		"forced beside its own": {wanted: "4.22.0", conditions: blocked, controlPlane: &hyperv1.Release{Image: "own"}, annotations: force("other")},
	} {
		running := c.running
		if running == "" {
			running = "4.21.0"
		}
		p := newPass(&hyperv1.HostedCluster{
			ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations},
			Spec:       hyperv1.HostedClusterSpec{Release: hyperv1.Release{Image: "new"}, ControlPlaneRelease: c.controlPlane},
			Status: hyperv1.HostedClusterStatus{Conditions: c.conditions, Version: &hyperv1.ClusterVersionStatus{
				Desired: hyperv1.VersionRelease{Image: "old"}, History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: running}}}},
		})
		p.release = &release.Release{Version: c.wanted}
		err := p.gateUpgrade(t.Context())
		if (err == nil) != c.allowed || (p.blockedUpgrade == "") != c.allowed {
			t.Errorf("%s: %v, %q", title, err, p.blockedUpgrade)
		}
	}
}
