package hostedcluster

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
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
		"openshift":    {payload: &releasetest.Payload{Version: "4.21.1", With: releasetest.OpenShiftKeys}, reason: hyperv1.InvalidImageReason, message: "which cannot become the other"},
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

// TestOpenShiftPayload: a control plane is made of a payload of OpenShift's, whose operators may be given their rights; one of its releases
// may not be of the other kind, whatever the annotations.
func TestOpenShiftPayload(t *testing.T) {
	f := newFixture(t, "openshift")
	registry := releasetest.New(t)
	hc := f.cluster()
	hc.Annotations = map[string]string{hyperv1.SkipReleaseImageValidation: "true"}
	hc.Spec.Release.Image = registry.PushPayload(t, "openshift", releasetest.Payload{Version: "4.21.0", With: releasetest.OpenShiftKeys})
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.reconcile(t)
	if !meta.IsStatusConditionTrue(f.get(t).Status.Conditions, hyperv1.ValidReleaseImage) || f.controlPlane(t).Spec.ReleaseImage != hc.Spec.Release.Image {
		t.Errorf("ValidReleaseImage %+v", meta.FindStatusCondition(f.get(t).Status.Conditions, hyperv1.ValidReleaseImage))
	}
	for _, obj := range operators.EmergencyAccess(f.namespace, hc.Name) {
		if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Errorf("access for emergencies: %v", err)
		}
	}
	other := f.get(t)
	other.Spec.ControlPlaneRelease = &hyperv1.Release{Image: registry.PushPayload(t, "plain", releasetest.Payload{Version: "4.21.1"})}
	if err := f.client.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	f.reconcile(t)
	image := meta.FindStatusCondition(f.get(t).Status.Conditions, hyperv1.ValidReleaseImage)
	if image.Status != metav1.ConditionFalse || !strings.Contains(image.Message, "name two of one kind") {
		t.Errorf("ValidReleaseImage %+v", image)
	}
}

// TestUnsignedRelease: where the installation has keys, a release that none of them signed makes nothing, and a running cluster does not
// go to one; the signature is enough to go on.
func TestUnsignedRelease(t *testing.T) {
	f := newFixture(t, "unsigned")
	signer, keys := releasetest.Signer(t)
	reader := release.Reader{Signers: keys}
	f.reconciler.Releases.Releases, f.reconciler.Releases.Labels = release.NewCache(reader), release.NewLabelCache(reader)
	registry := releasetest.New(t)
	tag := registry.PushPayload(t, "4.21.0", releasetest.Payload{Version: "4.21.0"})
	first := registry.ByDigest(t, tag)
	hc := f.cluster()
	hc.Annotations = map[string]string{hyperv1.SkipReleaseImageValidation: "true"}
	hc.Spec.Release.Image = first
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	refused := func(message string) {
		t.Helper()
		f.reconcile(t)
		image := meta.FindStatusCondition(f.get(t).Status.Conditions, hyperv1.ValidReleaseImage)
		if image == nil || image.Status != metav1.ConditionFalse || image.Reason != hyperv1.InvalidImageReason || !strings.Contains(image.Message, message) {
			t.Errorf("ValidReleaseImage %+v, want %q", image, message)
		}
	}
	refused("Unsigned: ")
	refused("sign it by 'hypershift payload sign'")
	if err := f.client.Get(t.Context(), client.ObjectKey{Name: f.namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace is made for an unsigned release: %v", err)
	}
	stranger, _ := releasetest.Signer(t)
	registry.Sign(t, first, stranger)
	refused("by a key that is trusted")
	registry.Sign(t, first, signer)
	f.reconcile(t)
	if image := f.controlPlane(t).Spec.ReleaseImage; image != first {
		t.Errorf("the control plane has %s", image)
	}
	f.complete(t, "4.21.0", first)
	for _, next := range []struct{ image, message string }{
		{tag, "today it leads to " + first},
		{registry.ByDigest(t, registry.PushPayload(t, "4.21.1", releasetest.Payload{Version: "4.21.1"})), "it has no signature"},
	} {
		f.setRelease(t, next.image)
		refused(next.message)
		if image := f.controlPlane(t).Spec.ReleaseImage; image != first {
			t.Errorf("the control plane goes to %s", image)
		}
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
	objects := []client.Object{f.controlPlane(t), namespace, f.deployment(t, contract.ControlPlaneOperator), f.deployment(t, contract.ClusterAPI)}
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
