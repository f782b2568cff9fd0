package hostedcluster

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// TestPodSecurity goes through what decides the standard of a control plane's namespace, with one image after the other.
func TestPodSecurity(t *testing.T) {
	f := newFixture(t, "podsecurity")
	registry := releasetest.New(t)
	push := func(version string, labels map[string]string) string {
		return registry.PushPayload(t, version, releasetest.Payload{Version: version, Operator: registry.PushOperator(t, labels)})
	}
	restricted := map[string]string{release.LabelRestricted: "true"}
	hc := f.cluster()
	hc.Spec.Release.Image = push("4.21.0", restricted)
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	f.expectPodSecurity(t, "the image says so", "restricted")

	f.setRelease(t, push("4.21.1", map[string]string{release.LabelPrefix + "subcommands": "true"}))
	f.expectPodSecurity(t, "the image says nothing of it", "privileged")
	f.setRelease(t, push("4.21.2", map[string]string{release.LabelRestricted: "false"}))
	f.expectPodSecurity(t, "the image denies it", "privileged")

	f.annotate(t, hyperv1.ControlPlaneOperatorImageLabels, release.LabelRestricted+"=true")
	f.expectPodSecurity(t, "the user knows better", "restricted")
	f.annotate(t, hyperv1.PodSecurityLabelOverrideAnnotation, "Baseline")
	f.expectPodSecurity(t, "the user decides", "baseline")
	f.annotate(t, hyperv1.ControlPlaneOperatorImageLabels, "restricted")
	if _, err := f.reconciler.Reconcile(t.Context(), f.request); err == nil {
		t.Error("labels that are none are no error")
	}
	valid := meta.FindStatusCondition(f.get(t).Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
	if valid.Status != metav1.ConditionFalse || !strings.Contains(valid.Message, hyperv1.ControlPlaneOperatorImageLabels) {
		t.Errorf("labels that are none: %+v", valid)
	}
}

// TestUnreadableImageLabels: without them no namespace is made, one that exists keeps its standard, and its operators stay as they are;
// everything else goes on.
func TestUnreadableImageLabels(t *testing.T) {
	f := newFixture(t, "unlabelled")
	registry, away := releasetest.New(t), releasetest.New(t)
	known := away.PushOperator(t, map[string]string{release.LabelRestricted: "true"})
	hc := f.cluster()
	hc.Spec.Release.Image = registry.PushPayload(t, "4.21.0", releasetest.Payload{Version: "4.21.0", Operator: known})
	f.create(t, f.pullSecret(), f.madeSecret(), hc)
	away.Answer(http.StatusTooManyRequests)
	f.expectLabelFailure(t, known)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); client.IgnoreNotFound(err) != nil || err == nil {
		t.Fatalf("the namespace must not be made: %v", err)
	}
	away.Answer(0)
	f.expectPodSecurity(t, "the registry is back", "restricted")
	operator := f.deployment(t, contract.ControlPlaneOperator).ResourceVersion

	unknown := away.PushOperator(t, map[string]string{"version": "next"})
	away.Answer(http.StatusUnauthorized)
	f.reconcile(t)
	f.setRelease(t, registry.PushPayload(t, "4.21.1", releasetest.Payload{Version: "4.21.1", Operator: unknown}))
	f.expectLabelFailure(t, unknown)
	f.read(t, namespace)
	if level := namespace.Labels["pod-security.kubernetes.io/"+"enforce"]; level != "restricted" {
		t.Errorf("the namespace's standard became %q", level)
	}
	if now := f.deployment(t, contract.ControlPlaneOperator).ResourceVersion; now != operator {
		t.Error("an operator whose image cannot be read was rolled out")
	}
	if got := f.controlPlane(t).Spec.ReleaseImage; got != registry.Reference("4.21.1") {
		t.Errorf("what does not depend on the labels did not go on: release %s", got)
	}
	away.Answer(0)
	f.expectPodSecurity(t, "the registry lets us in", "privileged")
}

func (f *fixture) expectPodSecurity(t *testing.T, why, want string) {
	t.Helper()
	f.reconcile(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	f.read(t, namespace)
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if got := namespace.Labels["pod-security.kubernetes.io/"+mode]; got != want {
			t.Errorf("%s: %s=%q, want %q", why, mode, got, want)
		}
	}
}

func (f *fixture) expectLabelFailure(t *testing.T, image string) {
	t.Helper()
	if _, err := f.reconciler.Reconcile(t.Context(), f.request); err == nil {
		t.Error("labels that cannot be read are no error")
	}
	conditions := f.get(t).Status.Conditions
	succeeded := meta.FindStatusCondition(conditions, hyperv1.ReconciliationSucceeded)
	if succeeded == nil || succeeded.Reason != "ReconciliationError" || !strings.Contains(succeeded.Message, image) {
		t.Errorf("ReconciliationSucceeded %+v", succeeded)
	}
	if !meta.IsStatusConditionTrue(conditions, hyperv1.ValidReleaseImage) {
		t.Error("the release itself can be used")
	}
}

func (f *fixture) annotate(t *testing.T, key, value string) {
	t.Helper()
	hc := f.get(t)
	if hc.Annotations == nil {
		hc.Annotations = map[string]string{}
	}
	hc.Annotations[key] = value
	if err := f.client.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
}
