package machinereport

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What machines say is kept by machine beside what else the secret has; what is no stage, or has no time, is none.
func TestReportsAreKept(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	secret := &corev1.Secret{}
	shows := func(when string, want map[string]Report) {
		t.Helper()
		if got := Of(secret); !maps.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	one, other := Report{Stage: StageBooted, Since: since, Text: "no image"}, Report{Text: "no network"}
	Keep(secret, "np-0", Report{Stage: StageKubeletStarted, Since: since})
	Keep(secret, "np-0", one)
	Keep(secret, "np-1", other)
	secret.Data["token"] = []byte("t")
	shows("both have spoken", map[string]Report{"np-0": one, "np-1": other})
	secret.Data["stage.np-1"] = []byte("Finished " + since.Format(time.RFC3339))
	secret.Data["stage.np-2"] = []byte(StageBooted + " yesterday")
	shows("a stage that nobody knows", map[string]Report{"np-0": one, "np-1": other, "np-2": {}})
	Keep(secret, "np-1", Report{})
	if !Drop(secret, func(machine string) bool { return machine == "np-2" }) || Drop(secret, func(machine string) bool { return machine == "np-1" }) {
		t.Error("it is not told what was there to be dropped")
	}
	shows("one is left", map[string]Report{"np-0": one})
	if string(secret.Data["token"]) != "t" {
		t.Errorf("the secret has %v", secret.Data)
	}
}
