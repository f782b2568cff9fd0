package steps

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "hypershift_step_duration_seconds",
	Help:    "How long the steps of a controller's pass took that wrote something or were not done.",
	Buckets: []float64{0.01, 0.1, 1, 10, 60},
}, []string{"controller", "step", "outcome"})

func init() { ctrlmetrics.Registry.MustRegister(duration) }

// told remembers for each object why each of its steps was not done the last time, so that the log says it once.
type told struct {
	lock sync.Mutex
	why  map[string]map[ID]string
}

// changed keeps what holds now, and returns the steps of which it differs from what was told.
func (t *told) changed(key string, now map[ID]string) map[ID]bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	before, news := t.why[key], map[ID]bool{}
	for id, why := range now {
		news[id] = before[id] != why
	}
	if t.why == nil {
		t.why = map[string]map[ID]string{}
	}
	if len(now) == 0 {
		delete(t.why, key)
	} else {
		t.why[key] = now
	}
	return news
}

func (t *told) forget(key string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	delete(t.why, key)
}

// tell writes a line for each step that wrote something, and for each that was not done when the reason is new. What failed is an
// error of the pass, which the controller's framework logs.
func (p *Plan[P]) tell(ctx context.Context, key string, report Report) {
	held := map[ID]string{}
	for _, result := range report.results {
		if result.Outcome == Waits || result.Outcome == Stops {
			held[result.ID] = result.Err.Error()
		}
	}
	news := p.told.changed(key, held)
	told := log.FromContext(ctx)
	for _, result := range report.results {
		wrote := len(result.Writes) > 0
		if wrote || news[result.ID] || result.Outcome == Failed {
			duration.WithLabelValues(p.controller, string(result.ID), string(result.Outcome)).Observe(result.Took.Seconds())
		}
		if wrote {
			told.Info("step wrote", "step", result.ID, "outcome", result.Outcome, "took", result.Took.Round(time.Millisecond).String(),
				"writes", strings.Join(result.Writes, ", "))
		}
		if news[result.ID] {
			told.Info("step holds", "step", result.ID, "outcome", result.Outcome, "why", result.Err.Error())
		}
	}
}
