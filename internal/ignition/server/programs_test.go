package server

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/payloadrender"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// openShift is a release whose programs render.
func openShift() *release.Release {
	return &release.Release{Version: "4.21.0", Images: map[string]string{"machine-config-operator": "quay.io/art@sha256:9", "pod": "quay.io/art@sha256:2"}}
}

// stage is a renderer in the place of the payload's programs.
type stage struct {
	runs    int
	last    payloadrender.Input
	failure error
}

func (s *stage) run(_ context.Context, in payloadrender.Input) ([]byte, error) {
	s.runs, s.last = s.runs+1, in
	return []byte(`{"ignition":{"version":"3.2.0"}}`), s.failure
}

// openShiftWorld is a control plane of an OpenShift payload with a token.
func openShiftWorld(t *testing.T, run *stage, upgrade hyperv1.UpgradeType) *tokenReconciler {
	t.Helper()
	objects := world(t)
	token := objects[1].(*corev1.Secret)
	token.Annotations[hyperv1.NodePoolUpgradeTypeAnnotation] = string(upgrade)
	token.Data[ignition.TokenConfigurationHashKey] = []byte("cafe")
	token.Data[ignition.TokenCloudConfigHashKey] = []byte(ignition.CloudConfigHash(map[string]string{"cloud.conf": "{}"}))
	token.Data[ignition.TokenOSStreamKey] = []byte("rhel-9")
	objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: contract.MachineConfigServer},
		Data: map[string]string{contract.ConfigurationHashKey: "cafe", "root-ca.crt": "authority"}})
	r := newTokenReconciler(t, start)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, hyperv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	conflicts := 1 // the first time somebody else writes the status, too
	r.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&hyperv1.HostedControlPlane{}).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, part string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			if conflicts--; conflicts >= 0 {
				return apierrors.NewConflict(hyperv1.GroupVersion.WithResource("hostedcontrolplanes").GroupResource(), obj.GetName(), errors.New("another write"))
			}
			return c.SubResource(part).Update(ctx, obj, opts...)
		}}).Build()
	r.releases = fixedReleases{release: openShift()}
	own := &programs{client: r.client, namespace: testNamespace, run: run.run, now: func() time.Time { return r.now() }, known: map[string]outcome{}}
	r.renderers[release.KindOpenShift] = renderer{render: own.render, offers: true}
	return r
}

// TestProgramsRender: the payload's programs get what the token and the control plane say, once for each input, and the outcome is told.
func TestProgramsRender(t *testing.T) {
	run := &stage{}
	r := openShiftWorld(t, run, hyperv1.UpgradeTypeReplace)
	for range 2 {
		secret, _, err := reconcileToken(t, r)
		if err != nil || string(secret.Data["reason"]) != "AsExpected" || len(secret.Data[ignition.TokenPayloadKey]) > 0 {
			t.Fatalf("%v, %q, payload %q", err, secret.Data["message"], secret.Data[ignition.TokenPayloadKey])
		}
	}
	if run.runs != 1 || run.last.Version != "4.21.0" || run.last.OSStream != "rhel-9" || run.last.Cluster["root-ca.crt"] != "authority" || run.last.CloudConfig == nil ||
		string(run.last.BootstrapKubeconfig) != "bootstrap" || run.last.ReleaseImage != "quay.io/release:4.21.0" {
		t.Errorf("%d runs, the last with %+v", run.runs, run.last)
	}
	hcp := &hyperv1.HostedControlPlane{}
	if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "demo"}, hcp); err != nil {
		t.Fatal(err)
	}
	told := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.IgnitionServerValidReleaseInfo)
	if told == nil || told.Status != metav1.ConditionFalse || told.Reason != hyperv1.MissingReleaseImagesReason || !strings.Contains(told.Message, "oauth-proxy") {
		t.Errorf("the control plane is told %+v", told)
	}
	changed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: contract.MachineConfigServer},
		Data: map[string]string{contract.ConfigurationHashKey: "cafe", "root-ca.crt": "another"}}
	if err := r.client.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reconcileToken(t, r); err != nil || run.runs != 2 {
		t.Errorf("%d runs after a change: %v", run.runs, err)
	}
}

// TestPayloadOfInPlacePools: the daemon that changes their nodes gets the configuration from the secret; pools of new machines do not have it there.
func TestPayloadOfInPlacePools(t *testing.T) {
	r := openShiftWorld(t, &stage{}, hyperv1.UpgradeTypeInPlace)
	secret, _, err := reconcileToken(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ignition.Decompress(secret.Data[ignition.TokenPayloadKey]); err != nil || got != `{"ignition":{"version":"3.2.0"}}` {
		t.Errorf("%q, %v", got, err)
	}
	secret.Annotations[hyperv1.NodePoolUpgradeTypeAnnotation] = string(hyperv1.UpgradeTypeReplace)
	if err := r.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if secret, _, err = reconcileToken(t, r); err != nil || secret.Data[ignition.TokenPayloadKey] != nil {
		t.Errorf("a pool of new machines has %q, %v", secret.Data[ignition.TokenPayloadKey], err)
	}
	plain := newTokenReconciler(t, start, world(t)...)
	if secret, _, err = reconcileToken(t, plain); err != nil || secret.Data[ignition.TokenPayloadKey] != nil {
		t.Errorf("a plain pool has %q, %v", secret.Data[ignition.TokenPayloadKey], err)
	}
}

// TestProgramsFail: what a stage says is told as the user's to mend, and is not tried again at once; what passes is tried again.
func TestProgramsFail(t *testing.T) {
	run := &stage{failure: &payloadrender.StageError{Stage: "render machine configurations", Cause: errors.New("no such kind")}}
	r := openShiftWorld(t, run, hyperv1.UpgradeTypeReplace)
	now := start
	r.now = func() time.Time { return now }
	for range 3 {
		secret, result, err := reconcileToken(t, r)
		if err != nil || result.RequeueAfter != problemPeriod || string(secret.Data["reason"]) != hyperv1.InvalidConfigReason ||
			string(secret.Data["message"]) != "failed to generate payload: render machine configurations: no such kind" {
			t.Fatalf("%v, %s, %q: %q", err, result.RequeueAfter, secret.Data["reason"], secret.Data["message"])
		}
	}
	if run.runs != 1 {
		t.Errorf("%d runs of what fails", run.runs)
	}
	now = now.Add(failurePeriod)
	run.failure = nil
	if secret, _, err := reconcileToken(t, r); err != nil || string(secret.Data["reason"]) != hyperv1.AsExpectedReason {
		t.Errorf("%v, %q", err, secret.Data["message"])
	}
	run = &stage{failure: &payloadrender.StageError{Stage: "take", Cause: &release.Error{Reason: release.ReasonUnreachable, Cause: errors.New("x")}}}
	r = openShiftWorld(t, run, hyperv1.UpgradeTypeReplace)
	for want := 1; want <= 2; want++ {
		if secret, _, err := reconcileToken(t, r); err == nil || run.runs != want || len(secret.Data["reason"]) > 0 {
			t.Errorf("%d runs while a registry is away: %v", run.runs, err)
		}
	}
}

// TestProgramsWait: parts of different moments are told, and nothing runs with them.
func TestProgramsWait(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*corev1.Secret)
		reason  string
		message string
		retried bool
	}{
		"another configuration": {func(s *corev1.Secret) { s.Data[ignition.TokenConfigurationHashKey] = []byte("beef") }, hyperv1.InvalidConfigReason, "out of date", true},
		"another pull secret":   {func(s *corev1.Secret) { s.Data[ignition.TokenPullSecretHashKey] = []byte("beef") }, hyperv1.InvalidConfigReason, "out of date", true},
		"another cloud":         {func(s *corev1.Secret) { s.Data[ignition.TokenCloudConfigHashKey] = []byte("beef") }, hyperv1.CloudConfigPendingReason, "hash mismatch", false},
		"broken documents":      {func(s *corev1.Secret) { s.Data[ignition.TokenConfigKey] = []byte("!") }, hyperv1.InvalidConfigReason, "failed to decode and decompress config", false},
	} {
		run := &stage{}
		r := openShiftWorld(t, run, hyperv1.UpgradeTypeReplace)
		secret := &corev1.Secret{}
		if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: "token-np"}, secret); err != nil {
			t.Fatal(err)
		}
		test.change(secret)
		if err := r.client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		got, _, err := reconcileToken(t, r)
		if (err != nil) != test.retried || string(got.Data["reason"]) != test.reason || !bytes.Contains(got.Data["message"], []byte(test.message)) || run.runs != 0 {
			t.Errorf("%s: %v, %q: %q, %d runs", name, err, got.Data["reason"], got.Data["message"], run.runs)
		}
	}
}

// TestOtherKind: a control plane that has no programs to render with says so.
func TestOtherKind(t *testing.T) {
	r := newTokenReconciler(t, start, world(t)...)
	r.releases = fixedReleases{release: openShift()}
	secret, _, err := reconcileToken(t, r)
	if err != nil || string(secret.Data["reason"]) != hyperv1.InvalidConfigReason || !bytes.Contains(secret.Data["message"], []byte("of kind OpenShift")) {
		t.Errorf("%v, %q: %q", err, secret.Data["reason"], secret.Data["message"])
	}
	if all, err := renderersOf(r.client, Options{WorkDir: t.TempDir()}); err != nil || len(all) != 2 || !all[release.KindOpenShift].offers {
		t.Errorf("with a work directory: %v, %v", all, err)
	}
}
