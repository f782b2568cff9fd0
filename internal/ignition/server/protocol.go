package server

import (
	"context"
	"net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/machinereport"
)

var ignitionPath = regexp.MustCompile(`^/ignition[^/ ]*$`)

// protocol speaks HyperShift's ignition protocol, and takes reports of machines.
type protocol struct {
	store *store
	// served is told after a payload left (failed is nil) or could not be sent.
	served func(ctx context.Context, e entry, failed error)
	// reports keeps what machines say of themselves.
	reports *reports
	metrics *metrics
}

func (h *protocol) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		w.WriteHeader(http.StatusOK)
		return
	}
	reporting := r.URL.Path == machinereport.Path && r.Method == http.MethodPost
	if !reporting && !ignitionPath.MatchString(r.URL.Path) {
		http.NotFound(w, r)
		return
	}
	authorization := r.Header.Get("Authorization")
	token, ok := ignition.TokenOf(authorization)
	if !ok {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	found, ok := h.store.get(token)
	if !ok {
		h.metrics.misses.Inc()
		// A 5xx makes Ignition come back: the payload may only not be ready yet.
		http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
		return
	}
	if reporting {
		h.reports.receive(w, r, found)
		return
	}
	h.metrics.requests.WithLabelValues(found.nodePool).Inc()
	if err := ignition.Check(found.payload); err != nil {
		http.Error(w, "Invalid configuration", http.StatusInternalServerError)
		h.served(r.Context(), found, err)
		return
	}
	answer, contentType := ignition.Personal(found.payload, r.Host, authorization), "application/json; charset=utf-8"
	if r.URL.Path == ignition.FilesPath {
		files, err := ignition.Archive(answer)
		if err != nil {
			http.Error(w, "The configuration cannot be packed", http.StatusInternalServerError)
			h.served(r.Context(), found, err)
			return
		}
		answer, contentType = files, "application/x-tar"
	}
	w.Header().Set("Content-Type", contentType)
	_, err := w.Write(answer)
	h.served(context.WithoutCancel(r.Context()), found, err)
}

type metrics struct {
	requests   *prometheus.CounterVec
	misses     prometheus.Counter
	rotations  prometheus.Counter
	generation prometheus.Histogram
}

func newMetrics(registry prometheus.Registerer, tokens *store) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ign_server_get_request", Help: "Configurations that machines asked for.",
		}, []string{"nodePool"}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ign_server_payload_cache_miss_total", Help: "Requests with a token that opens nothing (yet).",
		}),
		rotations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ign_server_token_rotation_total", Help: "Tokens replaced because half of their life was over.",
		}),
		generation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ign_server_payload_generation_seconds", Help: "Time to build a configuration.", Buckets: []float64{5, 15, 30, 45, 60},
		}),
	}
	total := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ign_server_payload_cache_total", Help: "Tokens that open a configuration.",
	}, func() float64 { return float64(tokens.len()) })
	registry.MustRegister(m.requests, m.misses, m.rotations, m.generation, total)
	return m
}
