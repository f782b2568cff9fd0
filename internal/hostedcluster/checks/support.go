package checks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/management"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
	"github.com/hypershift-on-azure/hypershift/internal/support"
)

// Support asks whether this operator on this management cluster can run such a cluster at all. Only a change of the
// HostedCluster or of the operator helps, so nothing is retried. What a running cluster was made with, when nobody refused it, is
// told and does not stop: the cluster is kept up. What would be new for it waits. hcp is nil before there is a control plane. What a
// payload may have a program for is judged once the payload is read; before, it is neither refused nor acted on.
func Support(c *cluster.Cluster, hcp *hyperv1.HostedControlPlane, capabilities management.Capabilities, payload *release.Release) error {
	problems := unsupported(c.Hosted, capabilities, payload)
	if len(problems) == 0 {
		c.Conditions().True(hyperv1.SupportedHostedCluster, hyperv1.AsExpectedReason, "The cluster is supported by this operator.")
		return nil
	}
	fresh, err := unseen(c.Hosted, hcp, problems, capabilities, payload)
	if err != nil {
		return err
	}
	if payload == nil {
		certain := support.Certain(fresh)
		if len(certain) == 0 {
			return untilRead(c, fresh)
		}
		fresh = certain
	}
	if len(fresh) == 0 {
		c.Conditions().False(hyperv1.SupportedHostedCluster, hyperv1.UnsupportedHostedClusterReason,
			support.Join(problems)+". The cluster runs without it since before it was refused, and is kept up as it is.")
		return nil
	}
	message := support.Join(fresh)
	if hcp != nil {
		message += ". The control plane stays as it was before this change."
	}
	c.Conditions().False(hyperv1.SupportedHostedCluster, hyperv1.UnsupportedHostedClusterReason, message)
	return &steps.Stopped{Because: message}
}

// untilRead waits for the payload with what is new for the control plane. What runs with it says what it said.
func untilRead(c *cluster.Cluster, fresh []support.Problem) error {
	if len(fresh) == 0 {
		return nil
	}
	fields := make([]string, len(fresh))
	for i, problem := range fresh {
		fields[i] = problem.Field
	}
	message := fmt.Sprintf("Whether the release has a program for %s is known once the release is read.", strings.Join(fields, ", "))
	c.Conditions().Unknown(hyperv1.SupportedHostedCluster, hyperv1.StatusUnknownReason, message)
	return &steps.Stopped{Because: message}
}

// imagesOf are those of a payload that is read.
func imagesOf(payload *release.Release) support.Images {
	if payload == nil {
		return nil
	}
	return payload.Images
}

// unsupported are the reasons not to make such a cluster.
func unsupported(hc *hyperv1.HostedCluster, capabilities management.Capabilities, payload *release.Release) []support.Problem {
	problems := support.Of(support.Cluster(hc, imagesOf(payload)), support.Refused)
	for i, service := range hc.Spec.Services {
		if service.ServicePublishingStrategy.Type == hyperv1.Route && !capabilities.Routes {
			problems = append(problems, support.Problem{Field: fmt.Sprintf("spec.services[%d]", i), Verdict: support.Refused, Why: fmt.Sprintf(
				"%s is to be published by Route, but the management cluster does not serve route.openshift.io", service.Service)})
		}
	}
	return problems
}

// unseen leaves out the problems that the control plane has already.
func unseen(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, problems []support.Problem, capabilities management.Capabilities,
	payload *release.Release) ([]support.Problem, error) {
	if hcp == nil {
		return problems, nil
	}
	raw, err := json.Marshal(hcp.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec of HostedControlPlane %s: %w", hcp.Name, err)
	}
	running := &hyperv1.HostedCluster{}
	if err := json.Unmarshal(raw, &running.Spec); err != nil {
		return nil, fmt.Errorf("read the spec of HostedControlPlane %s as a HostedCluster's: %w", hcp.Name, err)
	}
	// It is no part of a control plane.
	running.Spec.AutoNode = hc.Spec.AutoNode
	seen := unsupported(running, capabilities, payload)
	return slices.DeleteFunc(slices.Clone(problems), func(problem support.Problem) bool { return slices.Contains(seen, problem) }), nil
}

// Inert adds to a valid configuration what of it nothing acts on. Whether something does may depend on the release,
// which is nil when it was not read.
func Inert(c *cluster.Cluster, payload *release.Release) {
	condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return
	}
	problems := support.Of(support.Cluster(c.Hosted, imagesOf(payload)), support.Inert)
	if payload == nil {
		problems = support.Certain(problems)
	}
	if len(problems) > 0 {
		c.Conditions().True(hyperv1.ValidHostedClusterConfiguration, condition.Reason, condition.Message+" Without effect: "+support.Join(problems)+".")
	}
}
