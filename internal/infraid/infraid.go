// Package infraid makes the identifiers that the cloud resources of a hosted cluster carry in their names.
package infraid

import (
	"strings"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

const (
	maxName      = 21
	randomLength = 5
)

// New makes an identifier out of the name of a cluster: at most 27 characters, five of them random.
func New(name string) string { return clean(name) + "-" + utilrand.String(randomLength) }

// clean keeps letters and digits of a name, in lower case, with single dashes between them: at most 21 characters.
func clean(name string) string {
	kept := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	for strings.Contains(kept, "--") {
		kept = strings.ReplaceAll(kept, "--", "-")
	}
	kept = strings.TrimLeft(kept, "-")
	if len(kept) > maxName {
		kept = kept[:maxName]
	}
	return strings.TrimRight(kept, "-")
}
