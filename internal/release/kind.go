package release

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what a payload is made of. It follows from the payload's component keys alone, and KindOf is the only place that decides it.
type Kind string

const (
	// KindKubernetes is a payload of Kubernetes' own programs, which this project's control plane and add-ons run.
	KindKubernetes Kind = "Kubernetes"
	// KindOpenShift is a payload whose own operators make its objects and describe its nodes.
	KindOpenShift Kind = "OpenShift"
)

// keysOfOpenShift are the operators without which no OpenShift payload exists: one makes its objects, the other describes its nodes.
var keysOfOpenShift = []string{"cluster-version-operator", "machine-config-operator"}

// KindOf is the kind of the payload that has these component images, by key.
func KindOf(images map[string]string) Kind {
	if slices.ContainsFunc(keysOfOpenShift, func(key string) bool { return images[key] != "" }) {
		return KindOpenShift
	}
	return KindKubernetes
}

// Kind of the payload.
func (r *Release) Kind() Kind { return KindOf(r.Images) }

// RunnableKinds are the kinds of payload that hosted control planes run.
func RunnableKinds() []Kind { return []Kind{KindKubernetes, KindOpenShift} }

// NodeKinds are the kinds of payload that nodes run.
func NodeKinds() []Kind { return []Kind{KindKubernetes} }

// CheckNodes tells why no node can run a payload with these component images; nil when its kind is one of NodeKinds.
func CheckNodes(images map[string]string) error {
	kind := KindOf(images)
	if slices.Contains(NodeKinds(), kind) {
		return nil
	}
	var present []string
	for _, key := range keysOfOpenShift {
		if images[key] != "" {
			present = append(present, key)
		}
	}
	return fmt.Errorf("the release payload is of kind %s (it has %s), of which this version runs the control plane and no nodes; "+
		"for nodes use a payload of kind %s", kind, strings.Join(present, " and "), KindKubernetes)
}

// ForNodes tells why no node can run the release, whatever its version; nil when one can.
func (r *Release) ForNodes() error { return CheckNodes(r.Images) }
