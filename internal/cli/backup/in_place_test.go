package backup

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// inPlaceFixture is a restore in place of a demo with a backup, and its client.
func inPlaceFixture(t *testing.T, change func(*hyperv1.HostedCluster)) (*restoration, client.Client) {
	t.Helper()
	demo := surveytest.Cluster("demo", change)
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "demo", UID: "a-uid"}}
	c := surveytest.Client(demo, hcp, made("monday", 20, hyperv1.BackupSucceededReason),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters-demo", Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}}}).
		WithStatusSubresource(&hyperv1.HostedCluster{}).Build()
	return &restoration{target: of(c), place: true, yes: true, validFor: time.Hour, timeout: time.Millisecond,
		ask: func() (bool, bool) { return false, false },
		sign: func(_ context.Context, _, address string, _ time.Time, _ time.Duration) (string, error) {
			return address + "?sig=topsecret", nil
		}}, c
}

// TestRestoreInPlace: what cannot be done, or nobody agreed to, writes nothing; else the request is the control plane's, carries the signed
// address, and replaces a former one. The address is printed nowhere.
func TestRestoreInPlace(t *testing.T) {
	typed := newRestoreCommand()
	typed.SetArgs([]string{"demo", "--in-place", "--dry-run", "--yes", "--wait", "--timeout=1m", "--management-file=x", "--azure-creds=y"})
	typed.SilenceUsage, typed.SilenceErrors = true, true
	refuses(t, "two ways at once", typed.ExecuteContext(t.Context()), "in-place management-file")
	pausedUntil := "true"
	none := func(*hyperv1.HostedCluster) {}
	for want, row := range map[string]struct {
		cluster func(*hyperv1.HostedCluster)
		change  func(*restoration)
	}{
		"goes back to backup monday of 2026-01-01": {none, func(r *restoration) { r.dryRun, r.yes = true, false }},
		"give --yes":                  {none, func(r *restoration) { r.yes = false }},
		"the answer was not yes":      {none, func(r *restoration) { r.yes, r.ask = false, func() (bool, bool) { return false, true } }},
		"no such backup":              {none, func(r *restoration) { r.backupName = "tuesday" }},
		"hypershift resume cluster":   {func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = &pausedUntil }, func(*restoration) {}},
		"restore that one by its own": {func(hc *hyperv1.HostedCluster) { hc.Spec.Etcd.ManagementType = hyperv1.Unmanaged }, func(*restoration) {}},
		"are for --in-place":          {none, func(r *restoration) { r.place = false }},
	} {
		r, c := inPlaceFixture(t, row.cluster)
		row.change(r)
		var out bytes.Buffer
		err := r.run(t.Context(), &out, silent)
		if told := out.String(); (err == nil || !strings.Contains(err.Error(), want)) && (err != nil || !strings.Contains(told, want)) {
			t.Errorf("want %q: %v, printed %q", want, err, told)
		}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: contract.EtcdRestore}, &corev1.Secret{}); err == nil {
			t.Errorf("%s: a request was written", want)
		}
	}

	r, c := inPlaceFixture(t, none)
	request := &corev1.Secret{}
	for _, minute := range []int{1, 2} {
		r.now = func() time.Time { return surveytest.Now.Add(time.Duration(minute) * time.Minute) }
		var out bytes.Buffer
		if err := r.run(t.Context(), &out, silent); err != nil || strings.Contains(out.String(), "topsecret") {
			t.Fatalf("%v, printed %q", err, out.String())
		}
		former := string(request.Data[contract.EtcdRestoreID])
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: contract.EtcdRestore}, request); err != nil {
			t.Fatal(err)
		}
		if id := string(request.Data[contract.EtcdRestoreID]); id == former || !strings.HasSuffix(string(request.Data[contract.EtcdRestoreURL]), "monday.db?sig=topsecret") ||
			len(request.Annotations) != 0 || !metav1.IsControlledBy(request, &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{UID: "a-uid"}}) {
			t.Errorf("request %d after %q: %+v", minute, former, request)
		}
		// The operator has served it when the next one comes.
		request.Annotations = map[string]string{contract.EtcdRestorePhase: contract.EtcdRestoreDone}
		if err := c.Update(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoreInPlaceWaits for its own request, and then for the hosted cluster.
func TestRestoreInPlaceWaits(t *testing.T) {
	r, c := inPlaceFixture(t, func(*hyperv1.HostedCluster) {})
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
		t.Fatal(err)
	}
	request := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: contract.EtcdRestore}, Data: map[string][]byte{contract.EtcdRestoreID: []byte("one")}}
	if err := c.Create(t.Context(), request.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	states := []struct {
		phase               string
		restored, available metav1.ConditionStatus
		want                string
		done                bool
	}{
		{"", "", metav1.ConditionTrue, "not looked", false},
		{"", metav1.ConditionTrue, metav1.ConditionTrue, "not looked", false}, // a former one was served
		{contract.EtcdRestoreRefilling, metav1.ConditionFalse, metav1.ConditionFalse, "the words", false},
		{contract.EtcdRestoreDone, metav1.ConditionTrue, metav1.ConditionFalse, "API server starts", false},
		{contract.EtcdRestoreDone, metav1.ConditionTrue, metav1.ConditionTrue, "the words", true},
	}
	for _, s := range states {
		live := &corev1.Secret{}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(request), live); err != nil {
			t.Fatal(err)
		}
		live.Annotations = map[string]string{contract.EtcdRestorePhase: s.phase}
		hc.Status.Conditions = []metav1.Condition{{Type: string(hyperv1.HostedClusterAvailable), Status: s.available, Reason: "R"}}
		if s.restored != "" {
			hc.Status.Conditions = append(hc.Status.Conditions, metav1.Condition{Type: string(hyperv1.EtcdRestoredInPlace), Status: s.restored, Reason: "R", Message: "the words"})
		}
		if err := c.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if err := c.Status().Update(t.Context(), hc); err != nil {
			t.Fatal(err)
		}
		now, done, err := r.progress(t.Context(), request)
		if err != nil || done != s.done || !strings.Contains(now, s.want) {
			t.Errorf("%+v: %q, %v, %v", s, now, done, err)
		}
	}
	other := request.DeepCopy()
	other.Data[contract.EtcdRestoreID] = []byte("two")
	if _, _, err := r.progress(t.Context(), other); err == nil || !strings.Contains(err.Error(), "another request") {
		t.Errorf("a request that was replaced: %v", err)
	}
}
