package status

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

func result(name string, status metav1.ConditionStatus, reason, message string) component.Result {
	return component.Result{Name: name, Available: metav1.Condition{Type: hyperv1.ControlPlaneComponentAvailable, Status: status, Reason: reason,
		Message: message}}
}

// said is a condition as "STATUS REASON: MESSAGE", empty where there is none.
func said(hcp *hyperv1.HostedControlPlane, kind string) string {
	c := kube.Find(hcp.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// serving is a pass after which all is well.
func serving(objects ...client.Object) *Status {
	hcp := planetest.Plane()
	hcp.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "admin-kubeconfig", Key: "kubeconfig"}
	nothing := func(kube.ConditionSetter) {}
	return &Status{
		Client: surveytest.Client(objects...).Build(), HCP: hcp, Now: time.Now, Reachable: true,
		Release: &release.Release{Version: "4.21.0"}, GuestRelease: &release.Release{Version: "4.21.0"}, ManagementRelease: "image",
		Endpoints: publish.Endpoints{APIServer: publish.Endpoint{Host: "api.test", Port: 7443}},
		Results: component.Results{result(etcd.Name, metav1.ConditionTrue, hyperv1.AsExpectedReason, ""),
			result(contract.APIServer, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")},
		Azure: nothing, Encryption: nothing, Backups: nothing, Recovery: nothing, Restoration: nothing,
	}
}

// TestAvailable: a control plane is available when all that somebody needs is there, and says of what is not the first thing only.
func TestAvailable(t *testing.T) {
	waits := func(name string) component.Result {
		return result(name, metav1.ConditionFalse, hyperv1.WaitingForAvailableReason, "0 of 1 replicas of "+name+" are ready")
	}
	for name, c := range map[string]struct {
		change func(*Status)
		failed error
		want   string
	}{
		"all is well":   {func(*Status) {}, nil, "True AsExpected: "},
		"no address":    {func(s *Status) { s.Endpoints.Waiting = []string{"a", "b"} }, nil, "False WaitingOnInfrastructureReady: a; b"},
		"no endpoints":  {func(s *Status) { s.Endpoints = publish.Endpoints{} }, nil, "False StatusUnknown: the endpoints have not been published yet"},
		"no kubeconfig": {func(s *Status) { s.HCP.Status.KubeConfig = nil }, nil, "False KubeconfigUnavailable"},
		"no etcd": {func(s *Status) { s.Results[0] = waits(etcd.Name); s.Results[1] = waits(contract.APIServer) }, nil,
			"False EtcdWaitingForQuorum: 0 of 1 replicas of etcd"},
		"no API server": {func(s *Status) { s.Results[1] = waits(contract.APIServer) }, nil, "False WaitingForAvailable: 0 of 1 replicas of kube-apiserver"},
		"with what failed": {func(s *Status) { s.Results[1] = waits(contract.APIServer) }, errors.New("quota"),
			"False WaitingForAvailable: 0 of 1 replicas of kube-apiserver are ready: quota"},
		"not probed":      {func(s *Status) { s.Reachable = false }, nil, "False KASLoadBalancerNotReachable: the published API server has not been probed yet"},
		"does not answer": {func(s *Status) { s.Reachable, s.Probed = false, errors.New("timeout") }, nil, "False KASLoadBalancerNotReachable: timeout"},
		"a component waits": {func(s *Status) { s.Results = append(s.Results, waits("kube-scheduler")) }, nil,
			"False ComponentsNotAvailable: waits for components to be available: kube-scheduler"},
		"an absent one":      {func(s *Status) { r := waits("flannel"); r.Absent = true; s.Results = append(s.Results, r) }, nil, "True AsExpected: "},
		"nothing looked at":  {func(s *Status) { s.Results = nil }, nil, "False StatefulSetNotFound: the etcd StatefulSet is not there yet"},
		"a step that failed": {func(*Status) {}, errors.New("quota"), "True AsExpected: "},
	} {
		s := serving()
		c.change(s)
		s.Set(t.Context(), c.failed)
		if got := said(s.HCP, hyperv1.HostedControlPlaneAvailable); !strings.HasPrefix(got, c.want) || s.HCP.Status.Ready != strings.HasPrefix(c.want, "True") {
			t.Errorf("%s: %q, ready %t; want %q", name, got, s.HCP.Status.Ready, c.want)
		}
	}
}

// TestInitialized: once somebody may have got a token for Azure it stays so, whatever comes later.
func TestInitialized(t *testing.T) {
	s := serving()
	s.Reachable = false
	for _, step := range []struct {
		status metav1.ConditionStatus
		config bool
		want   bool
	}{{metav1.ConditionFalse, true, false}, {metav1.ConditionTrue, false, false}, {metav1.ConditionTrue, true, true}, {metav1.ConditionFalse, false, true}} {
		s.Results[1].Available.Status = step.status
		if s.HCP.Status.KubeConfig = nil; step.config {
			s.HCP.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: "x"}
		}
		if s.Set(t.Context(), nil); s.HCP.Status.Initialized != step.want {
			t.Errorf("%+v: %t", step, s.HCP.Status.Initialized)
		}
	}
	// An endpoint that is not known for a moment is no reason to forget it.
	s.Endpoints = publish.Endpoints{}
	if s.Set(t.Context(), nil); s.HCP.Status.ControlPlaneEndpoint.Host != "api.test" {
		t.Errorf("%+v", s.HCP.Status.ControlPlaneEndpoint)
	}
}

// TestDegraded counts the Deployments of this control plane only, and does not call unknown what it could not read well.
func TestDegraded(t *testing.T) {
	lacking := func(namespace, name string, replicas int32) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: appsv1.DeploymentStatus{UnavailableReplicas: replicas}}
	}
	for name, c := range map[string]struct {
		there []client.Object
		want  string
	}{
		"all there": {[]client.Object{lacking("clusters-demo", "a", 0)}, "False AsExpected: "},
		"another's": {[]client.Object{lacking("clusters-other", "a", 1)}, "False AsExpected: "},
		"two of them": {[]client.Object{lacking("clusters-demo", "a", 1), lacking("clusters-demo", "b", 2)},
			"True UnavailableReplicas: a deployment has 1 unavailable replicas, b deployment has 2"},
		"cannot be asked": {nil, "Unknown StatusUnknown: list Deployments: no answer"},
	} {
		s := serving(c.there...)
		if c.there == nil {
			s.Client = surveytest.Client().WithInterceptorFuncs(interceptor.Funcs{
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return errors.New("no answer")
				},
			}).Build()
		}
		if s.Set(t.Context(), nil); !strings.HasPrefix(said(s.HCP, hyperv1.HostedControlPlaneDegraded), c.want) {
			t.Errorf("%s: %q", name, said(s.HCP, hyperv1.HostedControlPlaneDegraded))
		}
	}
}

// TestReleaseInfo: a component without its image is an error of the release, unless a valid release may lack it.
func TestReleaseInfo(t *testing.T) {
	lacks := func(name, image string) component.Result {
		return component.Result{Name: name, MissingImages: []string{image}}
	}
	for name, c := range map[string]struct {
		change func(*Status)
		want   string
	}{
		"not read": {func(s *Status) { s.Release = nil }, "Unknown StatusUnknown: the release has not been read yet"},
		"complete": {func(*Status) {}, "True AsExpected: "},
		"a required image": {func(s *Status) { s.Results = append(s.Results, lacks("etcd", "etcd"), lacks("extra", "e")) },
			"False MissingReleaseImages: the release lacks required images: etcd"},
		"an optional image": {func(s *Status) { s.Results = append(s.Results, lacks("extra", "e")) },
			"True AsExpected: absent, because the release has no image for them: e"},
	} {
		s := serving()
		s.Components = []component.Component{{Name: "etcd"}, {Name: "extra", Optional: true}}
		c.change(s)
		s.setReleaseInfo(kube.Conditions(&s.HCP.Status.Conditions, 1))
		if got := said(s.HCP, hyperv1.ValidReleaseInfo); !strings.HasPrefix(got, c.want) || strings.HasPrefix(c.want, "False") && strings.Contains(got, "extra") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRestoredFromBackup is told for clusters that begin with one, and stays True whatever becomes of etcd.
func TestRestoredFromBackup(t *testing.T) {
	s := serving()
	set := kube.Conditions(&s.HCP.Status.Conditions, 1)
	if s.setRestored(set); said(s.HCP, hyperv1.HostedClusterRestoredFromBackup) != "" {
		t.Error("a restore is told of that nobody asked for")
	}
	s.HCP.Spec.Etcd.Managed.Storage.RestoreSnapshotURL = []string{"https://store.example/demo.db?sig=secret"}
	for _, step := range []struct {
		status metav1.ConditionStatus
		want   string
	}{{metav1.ConditionFalse, "False EtcdWaitingForQuorum: etcd waits for its data from store.example/demo.db"}, {metav1.ConditionTrue,
		"True AsExpected: etcd began with store.example/demo.db"},
		{metav1.ConditionFalse, "True AsExpected: etcd began with"}} {
		s.Results[0].Available.Status = step.status
		if s.setRestored(set); !strings.HasPrefix(said(s.HCP, hyperv1.HostedClusterRestoredFromBackup), step.want) {
			t.Errorf("etcd %s: %q", step.status, said(s.HCP, hyperv1.HostedClusterRestoredFromBackup))
		}
	}
}

// TestHistory: an entry for each release, closed when all run it; the one before is closed by its successor, and the oldest go.
func TestHistory(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC)
	s := serving()
	s.Now = func() time.Time { at = at.Add(time.Minute); return at }
	run := func(image, version string, done bool) []hyperv1.ControlPlaneUpdateHistory {
		s.ManagementRelease, s.HCP.Spec.ReleaseImage, s.Release.Version = image, image, version
		s.setControlPlaneVersion(metav1.NewTime(s.Now().Truncate(time.Second)), done)
		return s.HCP.Status.ControlPlaneVersion.History
	}
	run("one", "4.21.0", false)
	if h := run("one", "4.21.0", true); len(h) != 1 || h[0].State != hyperv1.CompletedUpdate || h[0].CompletionTime.Time.Before(h[0].StartedTime.Time) {
		t.Errorf("%+v", h)
	}
	completed := s.HCP.Status.ControlPlaneVersion.History[0].CompletionTime.Time
	if h := run("one", "4.21.0", true); !h[0].CompletionTime.Time.Equal(completed) {
		t.Error("a pass at rest moves the time")
	}
	run("two", "4.21.1", false)
	run("three", "4.21.2", false)
	h := run("three", "4.21.2", true)
	if len(h) != 3 || h[0].State != hyperv1.CompletedUpdate || h[1].State != hyperv1.PartialUpdate || h[1].CompletionTime == nil {
		t.Errorf("%+v", h)
	}
	for i := range 2 * historyLimit {
		h = run(strings.Repeat("x", i+1), "4.22.0", true)
	}
	if len(h) != historyLimit || len(h[0].Image) != 2*historyLimit {
		t.Errorf("%d entries, the newest of %s", len(h), h[0].Image)
	}
}

// TestRolledOut: a release without a result of any component is not rolled out.
func TestRolledOut(t *testing.T) {
	s := serving()
	s.Results = nil
	if s.rolledOut() {
		t.Error("nothing was looked at, and all is done")
	}
	s.Release = nil
	if s.setVersions(); s.HCP.Status.ControlPlaneVersion != nil || s.HCP.Status.Version != "" {
		t.Errorf("a release that was not read: %+v", s.HCP.Status)
	}
}

// TestWrite: what is as it was is not written, and who was second looks again.
func TestWrite(t *testing.T) {
	var writes atomic.Int64
	hcp := planetest.Plane()
	c := surveytest.Client(hcp).WithStatusSubresource(hcp).WithInterceptorFuncs(kubetest.CountWrites(&writes)).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(hcp), hcp); err != nil {
		t.Fatal(err)
	}
	before := hcp.DeepCopy()
	if err := Write(t.Context(), c, before, hcp); err != nil || writes.Load() != 0 {
		t.Errorf("%d writes, %v", writes.Load(), err)
	}
	hcp.Spec.InfraID = "a change of the spec is not this one's to write"
	if err := Write(t.Context(), c, before, hcp); err != nil || writes.Load() != 0 {
		t.Errorf("%d writes, %v", writes.Load(), err)
	}
	stale := hcp.DeepCopy()
	hcp.Status.Ready, stale.Status.Version = true, "4.21.0"
	if err := Write(t.Context(), c, before, hcp); err != nil || writes.Load() != 1 {
		t.Errorf("%d writes, %v", writes.Load(), err)
	}
	if err := Write(t.Context(), c, before, stale); !errors.Is(err, component.ErrBehind) {
		t.Errorf("an old one is written: %v", err)
	}
	failing := surveytest.Client().WithInterceptorFuncs(interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "demo", errors.New("no"))
		}}).Build()
	if err := Write(t.Context(), failing, before, hcp); err == nil || errors.Is(err, component.ErrBehind) {
		t.Errorf("%v", err)
	}
}

// TestTroubleOfOthers: pods of what serves, and those of another control plane, are not asked.
func TestTroubleOfOthers(t *testing.T) {
	stuck := func(namespace, app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app, Labels: map[string]string{component.LabelApp: app}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node"}}}}
	}
	s := serving(stuck("clusters-demo", etcd.Name), stuck("clusters-other", contract.APIServer), stuck("clusters-demo", "kube-scheduler"))
	s.Results[1].Available.Status = metav1.ConditionFalse
	if s.findTrouble(t.Context()); s.withTrouble(etcd.Name, "a") != "a" || s.withTrouble(contract.APIServer, "b") != "b" {
		t.Errorf("%v", s.trouble)
	}
	s.Results[0].Available.Status = metav1.ConditionFalse
	if s.findTrouble(t.Context()); !strings.Contains(s.withTrouble(etcd.Name, "a"), "no node") {
		t.Errorf("%v", s.trouble)
	}
}
