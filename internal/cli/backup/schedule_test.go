package backup

import (
	"bytes"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestSchedule: a schedule is written once there is a backup it can follow, told, and taken back; nothing wrong is written.
func TestSchedule(t *testing.T) {
	c := surveytest.Client(objects()...).Build()
	stored := func() string {
		t.Helper()
		hc := &hyperv1.HostedCluster{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc); err != nil {
			t.Fatal(err)
		}
		return hc.Annotations[hyperv1.EtcdBackupScheduleAnnotation]
	}
	run := func(s timing) (string, error) {
		var out bytes.Buffer
		s.target = of(c)
		err := s.run(t.Context(), &out, s.cron != "")
		return out.String(), err
	}
	_, err := run(timing{cron: "0 2 * * *"})
	refuses(t, "no backup yet", err, "make the first with: hypershift backup create demo")
	if err := c.Create(t.Context(), made("first", 3, hyperv1.BackupSucceededReason)); err != nil {
		t.Fatal(err)
	}
	_, err = run(timing{cron: "0 25 * * *"})
	refuses(t, "a wrong hour", err, "--cron: \"0 25 * * *\" is no schedule")
	if got := stored(); got != "" {
		t.Errorf("%q is written", got)
	}
	for _, step := range []struct {
		ask          timing
		said, stored string
	}{
		{timing{}, "no schedule of backups", ""},
		{timing{cron: "0 2 * * *", dryRun: true}, "would write: etcd of demo is saved", ""},
		{timing{cron: "0 2 * * *"}, "next at 2026-01-03 02:00 UTC", "0 2 * * *"},
		{timing{cron: "0 2 * * *"}, "this schedule already", "0 2 * * *"},
		{timing{}, "0 2 * * *", "0 2 * * *"},
		{timing{off: true, dryRun: true}, "would write: no more", "0 2 * * *"},
		{timing{off: true}, "no more backups", ""},
		{timing{off: true}, "has no schedule", ""},
	} {
		said, err := run(step.ask)
		if err != nil || !strings.Contains(said, step.said) || stored() != step.stored {
			t.Errorf("%+v: %q %v, stored %q; want %q and %q", step.ask, said, err, stored(), step.said, step.stored)
		}
	}
}
