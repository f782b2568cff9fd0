package checks

import (
	"encoding/json"
	"fmt"
	"slices"

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
// told and does not stop: the cluster is kept up. What would be new for it waits. hcp is nil before there is a control plane.
func Support(c *cluster.Cluster, hcp *hyperv1.HostedControlPlane, capabilities management.Capabilities) error {
	problems := unsupported(c.Hosted, capabilities)
	if len(problems) == 0 {
		c.Conditions().True(hyperv1.SupportedHostedCluster, hyperv1.AsExpectedReason, "The cluster is supported by this operator.")
		return nil
	}
	fresh, err := unseen(c.Hosted, hcp, problems, capabilities)
	if err != nil {
		return err
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

// unsupported are the reasons not to make such a cluster.
func unsupported(hc *hyperv1.HostedCluster, capabilities management.Capabilities) []support.Problem {
	problems := support.Of(support.Cluster(hc, nil), support.Refused)
	for i, service := range hc.Spec.Services {
		if service.ServicePublishingStrategy.Type == hyperv1.Route && !capabilities.Routes {
			problems = append(problems, support.Problem{Field: fmt.Sprintf("spec.services[%d]", i), Verdict: support.Refused, Why: fmt.Sprintf(
				"%s is to be published by Route, but the management cluster does not serve route.openshift.io", service.Service)})
		}
	}
	return problems
}

// unseen leaves out the problems that the control plane has already.
func unseen(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, problems []support.Problem, capabilities management.Capabilities) ([]support.Problem, error) {
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
	seen := unsupported(running, capabilities)
	return slices.DeleteFunc(slices.Clone(problems), func(problem support.Problem) bool { return slices.Contains(seen, problem) }), nil
}

// Inert adds to a valid configuration what of it nothing acts on. Whether something does may depend on the release,
// which is nil when it was not read.
func Inert(c *cluster.Cluster, payload *release.Release) {
	condition := kube.Find(c.Hosted.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return
	}
	var images support.Images
	if payload != nil {
		images = payload.Images
	}
	if inert := support.Of(support.Cluster(c.Hosted, images), support.Inert); len(inert) > 0 {
		c.Conditions().True(hyperv1.ValidHostedClusterConfiguration, condition.Reason, condition.Message+" Without effect: "+support.Join(inert)+".")
	}
}
