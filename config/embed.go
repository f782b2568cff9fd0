// Package config carries the CustomResourceDefinitions that `hypershift install` applies.
package config

import "embed"

// Route defines OpenShift's Route, for management clusters that do not.
//
//go:embed route/routes.crd.yaml
var Route []byte

// CRDs holds crd/<source>/<group>_<plural>.yaml: crd/hypershift is generated from api/, the others are copies of what
// their projects publish (see hack/generate.sh).
//
//go:embed crd
var CRDs embed.FS

// Rules are recording rules, as the spec of a PrometheusRule.
//
//go:embed monitoring/rules.yaml
var Rules []byte

// Alerts are the alerts of the service-level objectives, in the same form.
//
//go:embed monitoring/alerts.yaml
var Alerts []byte
