package nodepool

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// keptUp is added to what is refused of a pool that has its machines: they are kept up, and do without it.
const keptUp = "; the node pool's machines run without it and are kept up"

// refusals are those of one member of the spec; empty without any.
func refusals(p *pass, field string) string {
	return support.Join(slices.DeleteFunc(support.Of(support.Pool(&p.np.Spec, p.payloadImages()), support.Refused), func(problem support.Problem) bool {
		return problem.Field != field
	}))
}

// inert tells what of the spec is accepted and has no effect.
func inert(p *pass) string {
	if problems := support.Of(support.Pool(&p.np.Spec, p.payloadImages()), support.Inert); len(problems) > 0 {
		return ". Without effect: " + support.Join(problems)
	}
	return ""
}

// payloadImages are those of the pool's payload; nil while it is not read.
func (p *pass) payloadImages() support.Images {
	if p.release == nil {
		return nil
	}
	return p.release.Images
}

// refuseConfig: no machine gets a configuration of which it would leave out a part. A pool whose machines run with it, because nobody
// refused it then, is kept up.
func (p *pass) refuseConfig() error {
	const condition = hyperv1.NodePoolValidMachineConfig
	message := "spec.config: " + strings.Join(p.config.unread, "; ")
	if p.maker != nil && (p.np.Annotations[hyperv1.NodePoolCurrentConfigAnnotation] == p.config.hash ||
		p.np.Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation] == p.config.version) {
		p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason, message+keptUp)
		return nil
	}
	p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason, message)
	return p.stop()
}
