// Package metrics tells Prometheus about hosted clusters and node pools.
//
// Gauges are computed when Prometheus asks, from the operator's cache of HostedClusters and NodePools: a scrape calls no API, and
// nothing has to be remembered, or forgotten, when an object goes. Histograms and counters follow the changes of those objects.
//
// A series per object exists for hosted clusters and node pools only, and every other label has a bounded set of values.
package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// Type of a metric.
type Type string

// The types in use.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Definition is what a metric means.
type Definition struct {
	Name   string
	Type   Type
	Labels []string
	Help   string
	// Set is the smallest set with the metric.
	Set series.Set
}

var definitions []Definition

// Definitions returns what the operator tells, in the order of the source.
func Definitions() []Definition { return slices.Clone(definitions) }

// clusterLabels are those of every metric of one hosted cluster; _id is its clusterID.
var clusterLabels = []string{"namespace", "name", "_id"}

// poolLabels are those of every metric of one node pool.
var poolLabels = []string{"namespace", "name", "_id", "cluster_name", "platform"}

func define(kind Type, set series.Set, name, help string, labels ...string) Definition {
	d := Definition{Name: name, Type: kind, Labels: labels, Help: help, Set: set}
	definitions = append(definitions, d)
	return d
}

// gauge is a metric of which a collector makes the series.
type gauge struct {
	Definition
	desc *prometheus.Desc
}

func newGauge(set series.Set, name, help string, labels ...string) gauge {
	return gauge{define(Gauge, set, name, help, labels...), prometheus.NewDesc(name, help, labels, nil)}
}

// clusterGauge is a gauge of each hosted cluster.
func clusterGauge(set series.Set, name, help string, more ...string) gauge {
	return newGauge(set, name, help, slices.Concat(clusterLabels, more)...)
}

// poolGauge is a gauge of each node pool; all of them are of the smallest set.
func poolGauge(name, help string) gauge { return newGauge(series.Telemetry, name, help, poolLabels...) }

func (g gauge) send(to chan<- prometheus.Metric, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
}

func boolean(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
