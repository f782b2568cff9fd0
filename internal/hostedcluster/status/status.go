// Package status computes the status of a HostedCluster from what its control plane reports, and from what this operator sees itself.
package status

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	publicHTTPSPort = 443
)

// reported are the conditions that the HostedControlPlane knows and the HostedCluster repeats.
var reported = []hyperv1.ConditionType{
	hyperv1.HostedClusterAvailable,
	hyperv1.HostedClusterDegraded,
	hyperv1.InfrastructureReady,
	hyperv1.EtcdAvailable,
	hyperv1.KubeAPIServerAvailable,
	hyperv1.ExternalDNSReachable,
	hyperv1.ValidReleaseInfo,
	hyperv1.ValidHostedControlPlaneConfig,
	hyperv1.ValidAzureKMSConfig,
	hyperv1.ClusterVersionSucceeding,
	hyperv1.ClusterVersionAvailable,
	hyperv1.ClusterVersionProgressing,
	hyperv1.ClusterVersionReleaseAccepted,
	hyperv1.ClusterVersionUpgradeable,
	hyperv1.ConfigOperatorReconcileSucceeded,
	hyperv1.DataPlaneConnectionAvailable,
	hyperv1.ControlPlaneConnectionAvailable,
}

// reportedIfKnown are repeated only once they exist: before, they would say nothing.
var reportedIfKnown = []hyperv1.ConditionType{
	hyperv1.IngressDNSReady,
	hyperv1.ValidIDPConfiguration,
	hyperv1.ClusterVersionRetrievedUpdates,
	hyperv1.EtcdDataEncryptionUpToDate,
	hyperv1.HostedClusterRestoredFromBackup,
	hyperv1.EtcdBackupSucceeded,
	hyperv1.EtcdRestoredInPlace,
	hyperv1.EtcdRecoveryActive,
	hyperv1.CVOScaledDown,
	hyperv1.CloudResourcesDestroyed,
}

// Facts are what the steps of the pass learned that the status tells of.
type Facts struct {
	// Release is the payload of the control plane; nil when it was not read.
	Release *release.Release
	// MissingImages: the payload lacks images, and ValidReleaseInfo says which already.
	MissingImages bool
	// BlockedUpgrade says why the desired release is not rolled out; empty when it is.
	BlockedUpgrade string
	// Routes: the management cluster serves Routes.
	Routes bool
}

// Observe computes the status from the control plane's, which is nil before there is one. It returns when to look again without an
// event; zero means never.
func Observe(ctx context.Context, c *cluster.Cluster, hcp *hyperv1.HostedControlPlane, facts Facts) (time.Duration, error) {
	status := &c.Hosted.Status
	RepeatConditions(c, hcp, facts.MissingImages)
	again, health := Examine(ctx, c, hcp)
	observeIdentities(c, hcp)
	observeExposure(c)
	observeVersion(c, hcp, facts)
	tellStopped(c, facts.BlockedUpgrade)
	if err := errors.Join(health, observeIgnition(ctx, c), observeBackup(ctx, c)); err != nil || hcp == nil {
		return again, err
	}
	status.ControlPlaneEndpoint = hcp.Status.ControlPlaneEndpoint
	if status.ControlPlaneEndpoint.Host != "" && cluster.Strategy(c.Hosted, hyperv1.APIServer).Type == hyperv1.Route {
		status.ControlPlaneEndpoint.Port = publicHTTPSPort
	}
	status.OAuthCallbackURLTemplate = hcp.Status.OAuthCallbackURLTemplate
	status.ControlPlaneVersion = hcp.Status.ControlPlaneVersion
	status.Platform = hcp.Status.Platform
	status.Configuration = hcp.Status.Configuration
	status.SecretEncryption = hcp.Status.SecretEncryption
	endpoint, err := ignitionEndpoint(ctx, c, facts.Routes)
	if err != nil {
		return again, err
	}
	status.IgnitionEndpoint = endpoint
	return again, nil
}

// RepeatConditions takes over what the control plane reports. With missingImages, ValidReleaseInfo is left as it is.
func RepeatConditions(c *cluster.Cluster, hcp *hyperv1.HostedControlPlane, missingImages bool) {
	conditions := c.Conditions()
	var known []metav1.Condition
	missing := "The hosted control plane does not exist yet."
	switch {
	case hcp != nil:
		known = hcp.Status.Conditions
		missing = "The hosted control plane has not reported it yet."
	case !c.Hosted.DeletionTimestamp.IsZero():
		missing = "The hosted control plane is gone."
	}
	for _, kind := range reported {
		if kind == hyperv1.ValidReleaseInfo && missingImages {
			continue
		}
		conditions.Copy(known, kind, hyperv1.StatusUnknownReason, missing)
	}
	for _, kind := range reportedIfKnown {
		if condition := kube.Find(known, kind); condition != nil && condition.Status != metav1.ConditionUnknown {
			conditions.Set(kind, condition.Status, condition.Reason, condition.Message)
		} else if hcp != nil {
			conditions.Remove(kind)
		}
	}
}

// observeIdentities: the credentials are in place when this operator has written them, and found when Azure takes them too, which only
// the control plane can try.
func observeIdentities(c *cluster.Cluster, hcp *hyperv1.HostedControlPlane) {
	if hcp == nil {
		return
	}
	if tried := kube.Find(hcp.Status.Conditions, hyperv1.PlatformCredentialsFound); tried != nil && tried.Status == metav1.ConditionFalse {
		c.Conditions().False(tried.Type, tried.Reason, tried.Message)
	}
}

// observeExposure: no API server is exposed through an ingress that clusters share, so the only thing to say is that there is no
// public endpoint at all.
func observeExposure(c *cluster.Cluster) {
	azure := c.Hosted.Spec.Platform.Azure
	if azure == nil || azure.Topology != hyperv1.AzureTopologyPrivate {
		c.Conditions().Remove(hyperv1.PublicEndpointExposed)
		return
	}
	c.Conditions().False(hyperv1.PublicEndpointExposed, hyperv1.TopologyPrivateReason, "The cluster's topology is Private: its API server has no public endpoint.")
}

// stopping are the conditions that, being False, keep what the user wants from being done.
var stopping = []hyperv1.ConditionType{
	hyperv1.ReconciliationActive,
	hyperv1.SupportedHostedCluster,
	hyperv1.ValidHostedClusterConfiguration,
	hyperv1.ValidReleaseImage,
	hyperv1.ValidProxyConfiguration,
	hyperv1.UnmanagedEtcdAvailable,
	hyperv1.PlatformCredentialsFound,
}

// tellStopped repeats on the condition that everybody looks at what keeps the user's wishes from being done, or an upgrade from beginning.
func tellStopped(c *cluster.Cluster, blocked string) {
	available := kube.Find(c.Hosted.Status.Conditions, hyperv1.HostedClusterAvailable)
	told := []string{available.Message}
	for _, kind := range stopping {
		if c := kube.Find(c.Hosted.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			told = append(told, c.Message)
		}
	}
	c.Conditions().Set(available.Type, available.Status, available.Reason, sentences(append(told, blocked)))
}

// sentences puts texts after each other, each that another follows with its full stop.
func sentences(texts []string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	for i, text := range texts[:max(0, len(texts)-1)] {
		texts[i] = strings.TrimSuffix(text, ".") + "."
	}
	return strings.Join(texts, " ")
}

// Reconciliation reports the pass itself: what failed, or else which step waits for something or for the user, empty when none does.
func Reconciliation(c *cluster.Cluster, held string, err error) {
	before := reconciliationMessage(c.Hosted)
	if err == nil {
		message := "The last reconciliation succeeded."
		if held != "" {
			message += " " + strings.TrimSuffix(held, ".") + "."
		}
		c.Conditions().True(hyperv1.ReconciliationSucceeded, hyperv1.ReconciliationSucceededReason, message)
		return
	}
	c.Conditions().False(hyperv1.ReconciliationSucceeded, hyperv1.ReconciliationErrorReason, err.Error())
	if before != err.Error() {
		c.Event(corev1.EventTypeWarning, hyperv1.ReconciliationErrorReason, err.Error())
	}
}

func reconciliationMessage(hc *hyperv1.HostedCluster) string {
	for _, condition := range hc.Status.Conditions {
		if condition.Type == hyperv1.ReconciliationSucceeded {
			return condition.Message
		}
	}
	return ""
}
