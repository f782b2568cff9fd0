// Package config carries the CustomResourceDefinitions that `hypershift install` applies.
package config

import "embed"

// CRDs holds crd/<source>/<group>_<plural>.yaml: crd/hypershift is generated from api/, the others are copies of what
// their projects publish (see hack/generate.sh).
//
//go:embed crd
var CRDs embed.FS
