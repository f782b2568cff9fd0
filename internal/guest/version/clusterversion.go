package version

import (
	"fmt"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	historyLimit = 100
	// conditionFailing and the others are what a version operator reports beside Available, Progressing and Upgradeable.
	conditionFailing          configv1.ClusterStatusConditionType = "Failing"
	conditionReleaseAccepted  configv1.ClusterStatusConditionType = "ReleaseAccepted"
	conditionRetrievedUpdates configv1.ClusterStatusConditionType = configv1.RetrievedUpdates
)

// rollout is what the status of a ClusterVersion follows from.
type rollout struct {
	desired   configv1.Release
	operators []configv1.ClusterOperator
	// waiting names what does not run in the desired version yet.
	waiting []string
	now     time.Time
}

// version computes the status of the ClusterVersion. A first history is taken over from what the control plane knew, so that it
// survives the loss of the object.
func (r rollout) version(before configv1.ClusterVersionStatus, known *hyperv1.ClusterVersionStatus, generation int64) configv1.ClusterVersionStatus {
	after := *before.DeepCopy()
	after.Desired, after.ObservedGeneration = r.desired, generation
	if len(after.History) == 0 && known != nil {
		after.History = historyFrom(known.History)
	}
	now := metav1.NewTime(r.now.Truncate(time.Second))
	if len(after.History) == 0 || after.History[0].Image != r.desired.Image {
		if len(after.History) > 0 && after.History[0].CompletionTime == nil {
			after.History[0].CompletionTime = &now
		}
		entry := configv1.UpdateHistory{State: configv1.PartialUpdate, StartedTime: now, Version: r.desired.Version, Image: r.desired.Image}
		after.History = append([]configv1.UpdateHistory{entry}, after.History...)
		after.History = after.History[:min(len(after.History), historyLimit)]
	}
	if newest := &after.History[0]; newest.State == configv1.PartialUpdate && len(r.waiting) == 0 {
		newest.State, newest.CompletionTime = configv1.CompletedUpdate, &now
	}
	r.conditions(&after)
	return after
}

func (r rollout) conditions(status *configv1.ClusterVersionStatus) {
	set := func(kind configv1.ClusterStatusConditionType, ok bool, reason, message string) {
		c := configv1.ClusterOperatorStatusCondition{Type: kind, Status: configv1.ConditionFalse, Reason: reason, Message: message}
		if ok {
			c.Status = configv1.ConditionTrue
		}
		setClusterCondition(&status.Conditions, c, r.now)
	}
	version := r.desired.Version
	done := slices.IndexFunc(status.History, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate })
	if done >= 0 {
		set(configv1.OperatorAvailable, true, hyperv1.AsExpectedReason, "Done applying "+status.History[done].Version)
	} else {
		set(configv1.OperatorAvailable, false, "Installing", "No version has been rolled out completely yet")
	}
	reason, failing := r.failing()
	set(conditionFailing, failing != "", reason, failing)
	switch rolling := status.History[0].State == configv1.PartialUpdate; {
	case rolling:
		set(configv1.OperatorProgressing, true, "Deploying", fmt.Sprintf("Working towards %s: waiting on %s", version, strings.Join(r.waiting, ", ")))
	case failing != "":
		set(configv1.OperatorProgressing, false, reason, fmt.Sprintf("Error while reconciling %s: %s", version, failing))
	default:
		set(configv1.OperatorProgressing, false, hyperv1.AsExpectedReason, "Cluster version is "+version)
	}
	set(conditionReleaseAccepted, true, "PayloadLoaded", fmt.Sprintf("Payload loaded version=%q image=%q", version, r.desired.Image))
	against, blocking := r.blocking()
	set(configv1.OperatorUpgradeable, blocking == "", against, blocking)
	set(conditionRetrievedUpdates, false, "NoVersionOperator", "The release has no version operator that would ask an update service")
}

// failing names the operators that are degraded.
func (r rollout) failing() (reason, message string) {
	var names []string
	reason = "ClusterOperatorDegraded"
	for _, o := range r.operators {
		if c := findClusterCondition(o.Status.Conditions, configv1.OperatorDegraded); c == nil || c.Status != configv1.ConditionTrue {
			continue
		}
		verb := "is degraded"
		if c := findClusterCondition(o.Status.Conditions, configv1.OperatorAvailable); c != nil && c.Status == configv1.ConditionFalse {
			reason, verb = "ClusterOperatorNotAvailable", "is not available"
		}
		names = append(names, fmt.Sprintf("cluster operator %s %s", o.Name, verb))
	}
	if len(names) == 0 {
		return hyperv1.AsExpectedReason, ""
	}
	return reason, strings.Join(names, ", ")
}

// blocking names the operators that stand against a new minor version.
func (r rollout) blocking() (reason, message string) {
	var names []string
	reason = "ClusterOperatorNotUpgradeable"
	for _, o := range r.operators {
		degraded := findClusterCondition(o.Status.Conditions, configv1.OperatorDegraded)
		upgradeable := findClusterCondition(o.Status.Conditions, configv1.OperatorUpgradeable)
		switch {
		case degraded != nil && degraded.Status == configv1.ConditionTrue:
			reason = "ClusterOperatorDegraded"
			names = append(names, fmt.Sprintf("cluster operator %s is degraded", o.Name))
		case upgradeable != nil && upgradeable.Status == configv1.ConditionFalse:
			names = append(names, fmt.Sprintf("cluster operator %s is not upgradeable: %s", o.Name, upgradeable.Message))
		}
	}
	if len(names) == 0 {
		return hyperv1.AsExpectedReason, ""
	}
	return reason, strings.Join(names, ", ")
}

func historyFrom(known []hyperv1.UpdateHistory) []configv1.UpdateHistory {
	var out []configv1.UpdateHistory
	for _, h := range known {
		out = append(out, configv1.UpdateHistory{
			State: configv1.UpdateState(h.State), StartedTime: h.StartedTime, CompletionTime: h.CompletionTime,
			Version: h.Version, Image: h.Image, Verified: h.Verified, AcceptedRisks: h.AcceptedRisks,
		})
	}
	return out
}

// Limits of what the hosted control plane says of its guest's version, in bytes but for updatesLimit. Whoever administers the guest may
// write into its ClusterVersion what he likes.
const (
	versionLimit  = 128
	imageLimit    = 512
	urlLimit      = 1024
	risksLimit    = 1024
	channelLimit  = 128
	channelsLimit = 2048
	updatesLimit  = 100
	// listLimit is for each of the lists.
	listLimit = 64 << 10
)

// reportVersion is what the hosted control plane says of its guest's version.
func reportVersion(status *hyperv1.HostedControlPlaneStatus, version configv1.ClusterVersionStatus, generation int64) {
	out := &hyperv1.ClusterVersionStatus{Desired: releaseOf(version.Desired), ObservedGeneration: version.ObservedGeneration}
	for _, h := range version.History {
		if h.StartedTime.IsZero() { // null, which the schema does not take
			h.StartedTime = metav1.NewTime(time.Unix(0, 0))
		}
		out.History = append(out.History, hyperv1.UpdateHistory{
			State: hyperv1.UpdateState(kube.Shorten(string(h.State), versionLimit)), StartedTime: h.StartedTime, CompletionTime: h.CompletionTime,
			Version: kube.Shorten(h.Version, versionLimit), Image: kube.Shorten(h.Image, imageLimit), Verified: h.Verified,
			AcceptedRisks: kube.Shorten(h.AcceptedRisks, risksLimit),
		})
	}
	out.History = kube.Fit(out.History, historyLimit, listLimit)
	for _, update := range version.AvailableUpdates {
		out.AvailableUpdates = append(out.AvailableUpdates, releaseOf(update))
	}
	out.AvailableUpdates = kube.Fit(out.AvailableUpdates, updatesLimit, listLimit)
	for _, update := range version.ConditionalUpdates {
		out.ConditionalUpdates = append(out.ConditionalUpdates, hyperv1.ConditionalUpdate{
			Release: releaseOf(update.Release), Conditions: kube.BoundConditions(update.Conditions),
		})
	}
	out.ConditionalUpdates = kube.Fit(out.ConditionalUpdates, updatesLimit, listLimit)
	status.VersionStatus = out
	for _, report := range reportedConditions {
		c := findClusterCondition(version.Conditions, report.from)
		if c == nil {
			continue
		}
		condition := metav1.Condition{Type: report.to, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, ObservedGeneration: generation}
		if report.inverse {
			condition.Status = inverse[condition.Status]
		}
		if condition.Reason == "" {
			condition.Reason = hyperv1.FromClusterVersionReason
		}
		apimeta.SetStatusCondition(&status.Conditions, kube.BoundCondition(condition))
	}
}

var inverse = map[metav1.ConditionStatus]metav1.ConditionStatus{
	metav1.ConditionTrue: metav1.ConditionFalse, metav1.ConditionFalse: metav1.ConditionTrue, metav1.ConditionUnknown: metav1.ConditionUnknown,
}

var reportedConditions = []struct {
	from    configv1.ClusterStatusConditionType
	to      string
	inverse bool
}{
	{conditionFailing, hyperv1.ClusterVersionSucceeding, true},
	{configv1.OperatorAvailable, hyperv1.ClusterVersionAvailable, false},
	{configv1.OperatorProgressing, hyperv1.ClusterVersionProgressing, false},
	{conditionReleaseAccepted, hyperv1.ClusterVersionReleaseAccepted, false},
	{configv1.OperatorUpgradeable, hyperv1.ClusterVersionUpgradeable, false},
	{conditionRetrievedUpdates, hyperv1.ClusterVersionRetrievedUpdates, false},
}

func releaseOf(r configv1.Release) hyperv1.VersionRelease {
	var channels []string
	for _, channel := range r.Channels {
		// They are a set, which two that begin alike must not break.
		if channel = kube.Shorten(channel, channelLimit); !slices.Contains(channels, channel) {
			channels = append(channels, channel)
		}
		if len(channels) == updatesLimit {
			break
		}
	}
	return hyperv1.VersionRelease{
		Version: kube.Shorten(r.Version, versionLimit), Image: kube.Shorten(r.Image, imageLimit), URL: kube.Shorten(string(r.URL), urlLimit),
		Channels: kube.Fit(channels, updatesLimit, channelsLimit),
	}
}
