package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	publicHTTPSPort = 443
	// ignitionServer names the Deployment that machines fetch their configuration from, and its Route.
	ignitionServer = "ignition-server"
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
	hyperv1.CVOScaledDown,
	hyperv1.CloudResourcesDestroyed,
}

// observe computes the status from the control plane's.
func (p *pass) observe(ctx context.Context) error {
	status := &p.hc.Status
	p.observeConditions()
	health := p.observeWorkloads(ctx)
	p.observeIdentities()
	p.observeExposure()
	p.observeVersion()
	p.tellStopped()
	if err := errors.Join(health, p.observeIgnition(ctx)); err != nil || p.hcp == nil {
		return err
	}
	status.ControlPlaneEndpoint = p.hcp.Status.ControlPlaneEndpoint
	if status.ControlPlaneEndpoint.Host != "" && p.strategyOf(hyperv1.APIServer).Type == hyperv1.Route {
		status.ControlPlaneEndpoint.Port = publicHTTPSPort
	}
	status.OAuthCallbackURLTemplate = p.hcp.Status.OAuthCallbackURLTemplate
	status.ControlPlaneVersion = p.hcp.Status.ControlPlaneVersion
	status.Platform = p.hcp.Status.Platform
	status.Configuration = p.hcp.Status.Configuration
	status.SecretEncryption = p.hcp.Status.SecretEncryption
	endpoint, err := p.ignitionEndpoint(ctx)
	if err != nil {
		return err
	}
	status.IgnitionEndpoint = endpoint
	return nil
}

func (p *pass) observeConditions() {
	conditions := p.conditions()
	var known []metav1.Condition
	missing := "The hosted control plane does not exist yet."
	switch {
	case p.hcp != nil:
		known = p.hcp.Status.Conditions
		missing = "The hosted control plane has not reported it yet."
	case !p.hc.DeletionTimestamp.IsZero():
		missing = "The hosted control plane is gone."
	}
	for _, kind := range reported {
		if kind == hyperv1.ValidReleaseInfo && p.missingImages {
			continue
		}
		conditions.Copy(known, kind, hyperv1.StatusUnknownReason, missing)
	}
	for _, kind := range reportedIfKnown {
		if condition := kube.Find(known, kind); condition != nil && condition.Status != metav1.ConditionUnknown {
			conditions.Set(kind, condition.Status, condition.Reason, condition.Message)
		} else if p.hcp != nil {
			conditions.Remove(kind)
		}
	}
}

// observeIdentities: the credentials are in place when this operator has written them, and found when Azure takes them too, which only
// the control plane can try.
func (p *pass) observeIdentities() {
	if p.hcp == nil {
		return
	}
	if tried := kube.Find(p.hcp.Status.Conditions, hyperv1.PlatformCredentialsFound); tried != nil && tried.Status == metav1.ConditionFalse {
		p.conditions().False(tried.Type, tried.Reason, tried.Message)
	}
}

// observeExposure: no API server is exposed through an ingress that clusters share, so the only thing to say is that there is no
// public endpoint at all.
func (p *pass) observeExposure() {
	azure := p.hc.Spec.Platform.Azure
	if azure == nil || azure.Topology != hyperv1.AzureTopologyPrivate {
		p.conditions().Remove(hyperv1.PublicEndpointExposed)
		return
	}
	p.conditions().False(hyperv1.PublicEndpointExposed, hyperv1.TopologyPrivateReason, "The cluster's topology is Private: its API server has no public endpoint.")
}

// observeIgnition reports whether the ignition server can answer machines.
func (p *pass) observeIgnition(ctx context.Context) error {
	server := &appsv1.Deployment{}
	err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: ignitionServer}, server)
	if apierrors.IsNotFound(err) {
		p.conditions().False(hyperv1.IgnitionEndpointAvailable, hyperv1.NotFoundReason, "The ignition server does not exist yet.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Deployment %s: %w", ignitionServer, err)
	}
	for _, condition := range server.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable && condition.Status == corev1.ConditionTrue {
			p.conditions().True(hyperv1.IgnitionEndpointAvailable, hyperv1.AsExpectedReason, "The ignition server is available.")
			return nil
		}
	}
	p.conditions().False(hyperv1.IgnitionEndpointAvailable, hyperv1.WaitingForAvailableReason, "The ignition server is not available yet.")
	return nil
}

// observeVersion takes the history over from the control plane; before the first report it says what is being installed.
func (p *pass) observeVersion() {
	status := &p.hc.Status
	switch {
	case p.hcp != nil && p.hcp.Status.VersionStatus != nil:
		status.Version = p.hcp.Status.VersionStatus.DeepCopy()
	case status.Version == nil:
		status.Version = &hyperv1.ClusterVersionStatus{
			Desired: hyperv1.VersionRelease{Image: p.hc.Spec.Release.Image},
			History: []hyperv1.UpdateHistory{{
				State: hyperv1.PartialUpdate, StartedTime: metav1.NewTime(p.Now().Truncate(1e9)), Image: p.hc.Spec.Release.Image,
			}},
			ObservedGeneration: p.hc.Generation,
		}
	}
	if p.release != nil && status.Version.Desired.Version == "" && status.Version.Desired.Image == p.release.Image {
		status.Version.Desired.Version = p.release.Version
		if len(status.Version.History) == 1 && status.Version.History[0].Version == "" {
			status.Version.History[0].Version = p.release.Version
		}
	}
	p.observeProgress()
}

func (p *pass) observeProgress() {
	conditions, version := p.conditions(), p.hc.Status.Version
	rolling := len(version.History) == 0 || version.History[0].State != hyperv1.CompletedUpdate
	switch {
	case p.blockedUpgrade != "":
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.BlockedReason, p.blockedUpgrade)
	case version.Desired.Image != p.hc.Spec.Release.Image:
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.ProgressingReason,
			fmt.Sprintf("Moving from %s to %s.", version.Desired.Image, p.hc.Spec.Release.Image))
	case rolling:
		conditions.True(hyperv1.HostedClusterProgressing, hyperv1.ProgressingReason, "Rolling out "+version.Desired.Image+".")
	default:
		conditions.False(hyperv1.HostedClusterProgressing, hyperv1.AsExpectedReason, "The cluster runs the desired release.")
	}
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
func (p *pass) tellStopped() {
	available := kube.Find(p.hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	told := []string{available.Message}
	for _, kind := range stopping {
		if c := kube.Find(p.hc.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			told = append(told, c.Message)
		}
	}
	told = slices.DeleteFunc(append(told, p.blockedUpgrade), func(text string) bool { return text == "" })
	p.conditions().Set(available.Type, available.Status, available.Reason, sentences(told))
}

func (p *pass) strategyOf(service hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	for _, mapping := range p.hc.Spec.Services {
		if mapping.Service == service {
			return mapping.ServicePublishingStrategy
		}
	}
	return hyperv1.ServicePublishingStrategy{}
}

// ignitionEndpoint is where machines fetch their configuration: the hostname the user chose, else what the router admitted.
func (p *pass) ignitionEndpoint(ctx context.Context) (string, error) {
	strategy := p.strategyOf(hyperv1.Ignition)
	if strategy.NodePort != nil {
		return p.ignitionNodePort(ctx, strategy.NodePort)
	}
	if host := publishedHost(strategy); host != "" {
		return host, nil
	}
	if strategy.Type != hyperv1.Route || !p.Capabilities.Routes {
		return "", nil
	}
	route, err := p.readKind(ctx, routeKind, ignitionServer)
	if err != nil || route == nil {
		return "", err
	}
	return admittedHost(route), nil
}

// ignitionNodePort is empty until Kubernetes has chosen the port that the user left open.
func (p *pass) ignitionNodePort(ctx context.Context, published *hyperv1.NodePortPublishingStrategy) (string, error) {
	port := published.Port
	if port == 0 {
		service := &corev1.Service{}
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: publish.IgnitionProxyService}, service)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read Service %s: %w", publish.IgnitionProxyService, err)
		}
		for _, served := range service.Spec.Ports {
			port = served.NodePort
		}
	}
	if port == 0 {
		return "", nil
	}
	return net.JoinHostPort(published.Address, strconv.Itoa(int(port))), nil
}

// admittedHost reads the host a router serves the Route under. A host that was only asked for may lead nowhere.
func admittedHost(route *unstructured.Unstructured) string {
	ingresses, _, err := unstructured.NestedSlice(route.Object, "status", "ingress")
	if err != nil {
		return ""
	}
	for _, entry := range ingresses {
		ingress, ok := entry.(object)
		if !ok {
			continue
		}
		host, _, _ := unstructured.NestedString(ingress, "host")
		conditions, _, _ := unstructured.NestedSlice(ingress, "conditions")
		for _, item := range conditions {
			condition, ok := item.(object)
			if ok && condition["type"] == "Admitted" && condition["status"] == "True" {
				return host
			}
		}
	}
	return ""
}

// sentences puts texts after each other, each with its full stop.
func sentences(texts []string) string {
	for i, text := range texts[:max(0, len(texts)-1)] {
		texts[i] = strings.TrimSuffix(text, ".") + "."
	}
	return strings.Join(texts, " ")
}

// setReconciliation reports the pass itself.
func (p *pass) setReconciliation(err error) {
	before := p.reconciliationMessage()
	if err == nil {
		message := "The last reconciliation succeeded."
		if p.held != "" {
			message += " " + strings.TrimSuffix(p.held, ".") + "."
		}
		p.conditions().True(hyperv1.ReconciliationSucceeded, hyperv1.ReconciliationSucceededReason, message)
		return
	}
	p.conditions().False(hyperv1.ReconciliationSucceeded, hyperv1.ReconciliationErrorReason, err.Error())
	if before != err.Error() {
		p.event(corev1.EventTypeWarning, hyperv1.ReconciliationErrorReason, err.Error())
	}
}

func (p *pass) reconciliationMessage() string {
	for _, condition := range p.hc.Status.Conditions {
		if condition.Type == hyperv1.ReconciliationSucceeded {
			return condition.Message
		}
	}
	return ""
}
