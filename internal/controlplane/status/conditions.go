package status

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const lookupTimeout = 5 * time.Second

// setReleaseInfo names required images the payload lacks, and what is absent because it is OpenShift's own.
func (s *Status) setReleaseInfo(set kube.ConditionSetter) {
	if s.Release == nil {
		set.Unknown(hyperv1.ValidReleaseInfo, hyperv1.StatusUnknownReason, "the release has not been read yet")
		return
	}
	absent := s.Release.Missing(s.OpenShiftOnly...)
	var missing []string
	for _, r := range s.Results {
		if s.optional(r.Name) {
			absent = append(absent, r.MissingImages...)
		} else {
			missing = append(missing, r.MissingImages...)
		}
	}
	if len(missing) > 0 {
		set.False(hyperv1.ValidReleaseInfo, hyperv1.MissingReleaseImagesReason, "the release lacks required images: "+strings.Join(missing, ", "))
		return
	}
	message := ""
	if len(absent) > 0 {
		message = "absent, because the release has no image for them: " + strings.Join(absent, ", ")
	}
	set.True(hyperv1.ValidReleaseInfo, hyperv1.AsExpectedReason, message)
}

// optional tells whether a valid release may lack the component.
func (s *Status) optional(name string) bool {
	return slices.ContainsFunc(s.Components, func(c component.Component) bool { return c.Name == name && c.Optional })
}

func (s *Status) setEtcd(set kube.ConditionSetter) {
	if s.HCP.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		setUnmanagedEtcd(set, s.Results.Of(contract.APIServer).Available)
		return
	}
	switch available := s.Results.Of(etcd.Name).Available; {
	case available.Status == metav1.ConditionTrue:
		set.True(hyperv1.EtcdAvailable, hyperv1.EtcdQuorumAvailableReason, "")
	case available.Reason == hyperv1.NotFoundReason || available.Type == "":
		set.False(hyperv1.EtcdAvailable, hyperv1.EtcdStatefulSetNotFoundReason, "the etcd StatefulSet is not there yet")
	default:
		set.False(hyperv1.EtcdAvailable, hyperv1.EtcdWaitingForQuorumReason, s.withTrouble(etcd.Name, available.Message))
	}
}

// setUnmanagedEtcd: of an etcd of the user's nobody here knows more than the API server, which is not ready without it.
func setUnmanagedEtcd(set kube.ConditionSetter, apiServer metav1.Condition) {
	if apiServer.Status == metav1.ConditionTrue {
		set.True(hyperv1.EtcdAvailable, hyperv1.EtcdQuorumAvailableReason, "the API server reaches the user's etcd")
		return
	}
	set.Unknown(hyperv1.EtcdAvailable, hyperv1.EtcdStatusUnknownReason,
		strings.TrimSuffix("no API server is ready, and only it asks the user's etcd: "+apiServer.Message, ": "))
}

// setRestored tells whether the cluster has begun with the backup it was given. That stays true, whatever becomes of etcd later.
func (s *Status) setRestored(set kube.ConditionSetter) {
	if etcd.SnapshotURL(s.HCP) == "" || kube.IsTrue(s.HCP.Status.Conditions, hyperv1.HostedClusterRestoredFromBackup) {
		return
	}
	name, available := etcd.SnapshotName(s.HCP), s.Results.Of(etcd.Name).Available
	// etcd does not start before its data is there.
	if available.Status == metav1.ConditionTrue {
		set.True(hyperv1.HostedClusterRestoredFromBackup, hyperv1.AsExpectedReason, "etcd began with "+name)
		return
	}
	set.False(hyperv1.HostedClusterRestoredFromBackup, hyperv1.EtcdWaitingForQuorumReason,
		s.withTrouble(etcd.Name, "etcd waits for its data from "+name+"; container restore-snapshot of its pods says how far it is: "+available.Message))
}

func (s *Status) setAPIServer(set kube.ConditionSetter) {
	available := s.Results.Of(contract.APIServer).Available
	switch {
	case available.Type == "" || available.Reason == hyperv1.NotFoundReason:
		set.False(hyperv1.KubeAPIServerAvailable, hyperv1.NotFoundReason, "the kube-apiserver Deployment is not there yet")
	case available.Status != metav1.ConditionTrue:
		set.False(hyperv1.KubeAPIServerAvailable, hyperv1.WaitingForAvailableReason, s.withTrouble(contract.APIServer, available.Message))
	default:
		set.True(hyperv1.KubeAPIServerAvailable, hyperv1.AsExpectedReason, "")
	}
}

func (s *Status) setDegraded(ctx context.Context, set kube.ConditionSetter) {
	list := &appsv1.DeploymentList{}
	if err := s.Client.List(ctx, list, client.InNamespace(s.HCP.Namespace)); err != nil {
		set.Unknown(hyperv1.HostedControlPlaneDegraded, hyperv1.StatusUnknownReason, "list Deployments: "+err.Error())
		return
	}
	var lacking []string
	for _, d := range list.Items {
		if d.Status.UnavailableReplicas > 0 {
			lacking = append(lacking, fmt.Sprintf("%s deployment has %d unavailable replicas", d.Name, d.Status.UnavailableReplicas))
		}
	}
	if len(lacking) > 0 {
		set.True(hyperv1.HostedControlPlaneDegraded, hyperv1.UnavailableReplicasReason, strings.Join(lacking, ", "))
		return
	}
	set.False(hyperv1.HostedControlPlaneDegraded, hyperv1.AsExpectedReason, "")
}

func (s *Status) setInfrastructure(set kube.ConditionSetter) {
	switch {
	case len(s.Endpoints.Waiting) > 0:
		set.False(hyperv1.InfrastructureReady, hyperv1.WaitingOnInfrastructureReadyReason, strings.Join(s.Endpoints.Waiting, "; "))
	case !s.Endpoints.APIServer.Known():
		set.Unknown(hyperv1.InfrastructureReady, hyperv1.StatusUnknownReason, "the endpoints have not been published yet")
	default:
		set.True(hyperv1.InfrastructureReady, hyperv1.AsExpectedReason, "")
	}
}

func (s *Status) setExternalDNS(ctx context.Context, set kube.ConditionSetter) {
	host := externalHost(publish.Strategy(s.HCP, hyperv1.APIServer))
	if host == "" {
		set.Unknown(hyperv1.ExternalDNSReachable, hyperv1.StatusUnknownReason, "External DNS is not configured")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
		set.False(hyperv1.ExternalDNSReachable, hyperv1.ExternalDNSHostNotReachable, err.Error())
		return
	}
	set.True(hyperv1.ExternalDNSReachable, hyperv1.AsExpectedReason, "")
}

func externalHost(s hyperv1.ServicePublishingStrategy) string {
	switch {
	case s.LoadBalancer != nil:
		return string(s.LoadBalancer.Hostname)
	case s.Route != nil:
		return string(s.Route.Hostname)
	}
	return ""
}

// setAvailable is False for the first of: infrastructure, kubeconfig, etcd, API server, its published endpoint, and, until the
// first success only, the components.
func (s *Status) setAvailable(set kube.ConditionSetter, failed error) {
	status := s.HCP.Status
	no := func(reason, message string) { set.False(hyperv1.HostedControlPlaneAvailable, reason, message) }
	for _, needed := range []string{hyperv1.InfrastructureReady, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable} {
		if c := kube.Find(status.Conditions, needed); c.Status != metav1.ConditionTrue {
			message := c.Message
			if failed != nil {
				message = strings.TrimPrefix(message+": "+failed.Error(), ": ")
			}
			no(c.Reason, message)
			return
		}
		if needed == hyperv1.InfrastructureReady && status.KubeConfig == nil {
			no("KubeconfigUnavailable", "the admin kubeconfig has not been written yet")
			return
		}
	}
	if !s.Reachable {
		message := "the published API server has not been probed yet"
		if s.Probed != nil {
			message = s.Probed.Error()
		}
		no(hyperv1.KASLoadBalancerNotReachable, message)
		return
	}
	if !kube.IsTrue(status.Conditions, hyperv1.HostedControlPlaneAvailable) && !s.onceComplete() {
		if waiting := s.waitingComponents(); waiting != "" {
			no("ComponentsNotAvailable", "waits for components to be available: "+waiting)
			return
		}
	}
	set.True(hyperv1.HostedControlPlaneAvailable, hyperv1.AsExpectedReason, "")
}

// onceComplete tells whether every component has been there once. Components of a control plane that serves may wait for others while it is upgraded,
// and that is no outage, also when the API server has been away for a moment before.
func (s *Status) onceComplete() bool {
	version := s.HCP.Status.ControlPlaneVersion
	return version != nil && slices.ContainsFunc(version.History, func(h hyperv1.ControlPlaneUpdateHistory) bool { return h.State == hyperv1.CompletedUpdate })
}

func (s *Status) waitingComponents() string {
	var waiting []string
	for _, r := range s.Results {
		if !r.Absent && r.Available.Status != metav1.ConditionTrue {
			waiting = append(waiting, r.Name)
		}
	}
	return strings.Join(waiting, ", ")
}
