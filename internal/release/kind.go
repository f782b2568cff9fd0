package release

import (
	"slices"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
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
var keysOfOpenShift = []string{contract.VersionOperator, contract.ImageMachineConfig}

// KindOf is the kind of the payload that has these component images, by key.
func KindOf(images map[string]string) Kind {
	if slices.ContainsFunc(keysOfOpenShift, func(key string) bool { return images[key] != "" }) {
		return KindOpenShift
	}
	return KindKubernetes
}

// Kind of the payload.
func (r *Release) Kind() Kind { return KindOf(r.Images) }

// RunnableKinds are the kinds of payload that run.
func RunnableKinds() []Kind { return []Kind{KindKubernetes, KindOpenShift} }
