package hostedcluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

const (
	podSecurityPrefix = "pod-security.kubernetes.io/"

	podSecurityRestricted = "restricted"
	podSecurityPrivileged = "privileged"
)

// readImageLabels reads what the image of the control-plane operator says it can do. The user may say it instead, or may have decided
// already all that depends on it.
func (p *pass) readImageLabels(ctx context.Context) error {
	if text, ok := p.hc.Annotations[hyperv1.ControlPlaneOperatorImageLabels]; ok {
		labels, err := release.ParseLabels(text)
		if err != nil {
			return fmt.Errorf("annotation %s: %w", hyperv1.ControlPlaneOperatorImageLabels, err)
		}
		p.imageLabels = labels
		return nil
	}
	if p.podSecurityOverride() != "" {
		return nil
	}
	labels, err := p.Labels.Labels(ctx, p.helperImage, p.imageAccess)
	if release.Pending(err) {
		return &steps.Waiting{For: err.Error(), After: askAgain}
	}
	if err != nil {
		return fmt.Errorf("what the control-plane operator of %s can do: %w", p.controlPlaneImage(), err)
	}
	p.imageLabels = labels
	return nil
}

func (p *pass) podSecurityOverride() string {
	return strings.ToLower(p.hc.Annotations[hyperv1.PodSecurityLabelOverrideAnnotation])
}

// podSecurity is the standard that the control plane's namespace enforces. An operator that does not say that it keeps to the restricted
// one may not. What is not known now does not change what holds.
func (p *pass) podSecurity(ctx context.Context, own *corev1.Namespace) (string, error) {
	if override := p.podSecurityOverride(); override != "" {
		return override, nil
	}
	if !steps.Succeeded(ctx, imageLabelsStep) {
		if own != nil && own.Labels[podSecurityPrefix+"enforce"] != "" {
			return own.Labels[podSecurityPrefix+"enforce"], nil
		}
		return "", &steps.Waiting{For: "the labels of the control-plane operator's image"}
	}
	if p.imageLabels[release.LabelRestricted] == "true" {
		return podSecurityRestricted, nil
	}
	return podSecurityPrivileged, nil
}
