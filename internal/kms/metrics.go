package kms

import (
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// calls counts and times what the vault is asked, and logs when it begins or ceases to answer. Values are never logged.
type calls struct {
	duration  *prometheus.HistogramVec
	log       logr.Logger
	verbosity int
	failing   atomic.Bool
}

const detailed = 2

func newCalls(registry prometheus.Registerer, log logr.Logger, verbosity int) *calls {
	c := &calls{log: log, verbosity: verbosity, duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kms_request", Help: "Time in seconds of requests to the key vault.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
	}, []string{"operation", "status"})}
	registry.MustRegister(c.duration)
	return c
}

func (c *calls) observe(operation string, call func() ([]byte, error)) ([]byte, error) {
	began := time.Now()
	out, err := call()
	status := "success"
	if err != nil {
		status = "error"
	}
	took := time.Since(began)
	c.duration.WithLabelValues(operation, status).Observe(took.Seconds())
	if c.verbosity >= detailed {
		c.log.Info("asked the key vault", "operation", operation, "status", status, "took", took.String())
	}
	if was := c.failing.Swap(err != nil); was != (err != nil) {
		if err != nil {
			c.log.Error(err, "the key vault refuses")
		} else {
			c.log.Info("the key vault answers again")
		}
	}
	return out, err
}
