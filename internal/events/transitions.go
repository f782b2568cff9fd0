// Package events tells people what happened to their hosted clusters and node pools, as Kubernetes events.
//
// One observer compares each object with what it was before and tells what changed; the controllers only keep the conditions. At rest
// nothing changes, so nothing is told. What a controller alone knows, the stages of a deletion for example, it tells itself.
package events

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// event is what a person reads of one change.
type event struct{ kind, reason, action, note string }

// state is what of an object can change in a way worth telling.
type state struct {
	deleting   bool
	conditions []metav1.Condition
	history    []hyperv1.UpdateHistory
	// settled: a version was rolled out before, so what is going on is no creation.
	settled bool
}

// transition says how the changes of one condition are told.
type transition struct {
	condition string
	// healthy is the status that is as it should be.
	healthy metav1.ConditionStatus
	// bad and good are the reasons of the events; an empty one is not told.
	bad, good string
	// unknown is the reason of the event when a healthy one is nobody's word any more; empty where that is not told.
	unknown string
	// loss: only a healthy one that gets bad is told, and every one that gets healthy. Otherwise it begins unknown: every one that gets
	// bad, or bad for another reason, is told, and only those get healthy again.
	loss bool
	// only limits the bad ones to this reason of the condition.
	only string
	// later: not told while the first version is being rolled out.
	later bool
	// text is the note when a good condition has no message.
	text string
}

var clusterTransitions = []transition{
	{condition: hyperv1.HostedClusterAvailable, healthy: metav1.ConditionTrue, bad: "Unavailable", good: "Available", unknown: "AvailabilityUnknown", loss: true},
	{condition: hyperv1.HostedClusterProgressing, healthy: metav1.ConditionFalse, bad: "UpgradeBlocked", only: hyperv1.BlockedReason},
	{condition: hyperv1.HostedClusterDegraded, healthy: metav1.ConditionFalse, bad: "Degraded", good: "Recovered", loss: true},
	{condition: hyperv1.ReconciliationActive, healthy: metav1.ConditionTrue, bad: "Paused", good: "Resumed"},
	{condition: hyperv1.SupportedHostedCluster, healthy: metav1.ConditionTrue, bad: "Unsupported", good: "Supported"},
	{condition: hyperv1.ValidHostedClusterConfiguration, healthy: metav1.ConditionTrue, bad: "InvalidConfiguration", good: "ValidConfiguration"},
	{condition: hyperv1.ValidReleaseImage, healthy: metav1.ConditionTrue, bad: "InvalidReleaseImage", good: "ValidReleaseImage"},
	{condition: hyperv1.ValidReleaseInfo, healthy: metav1.ConditionTrue, bad: "InvalidReleaseInfo", good: "ValidReleaseInfo"},
	{condition: hyperv1.ValidHostedControlPlaneConfig, healthy: metav1.ConditionTrue, bad: "InvalidControlPlaneConfiguration", good: "ValidControlPlaneConfiguration"},
	{condition: hyperv1.PlatformCredentialsFound, healthy: metav1.ConditionTrue, bad: "CredentialsNotFound", good: "CredentialsFound"},
	{condition: hyperv1.ValidProxyConfiguration, healthy: metav1.ConditionTrue, bad: "InvalidProxyConfiguration", good: "ValidProxyConfiguration"},
	{condition: hyperv1.ValidIDPConfiguration, healthy: metav1.ConditionTrue, bad: "InvalidIdentityProviders", good: "ValidIdentityProviders"},
	{condition: hyperv1.ValidAzureKMSConfig, healthy: metav1.ConditionTrue, bad: "InvalidKeyVault", good: "ValidKeyVault"},
	{condition: hyperv1.UnmanagedEtcdAvailable, healthy: metav1.ConditionTrue, bad: "InvalidEtcdCertificate", good: "ValidEtcdCertificate"},
	{condition: hyperv1.EtcdAvailable, healthy: metav1.ConditionTrue, bad: "EtcdUnavailable", good: "EtcdAvailable", loss: true},
}

var poolTransitions = []transition{
	{condition: hyperv1.NodePoolReady, healthy: metav1.ConditionTrue, bad: "NotReady", good: "Ready", loss: true,
		text: "The node pool has all its nodes."},
	{condition: hyperv1.NodePoolReconciliationActive, healthy: metav1.ConditionTrue, bad: "Paused", good: "Resumed"},
	{condition: hyperv1.NodePoolUpdateManagementEnabled, healthy: metav1.ConditionTrue, bad: "InvalidManagement", good: "ValidManagement"},
	{condition: hyperv1.NodePoolValidReleaseImage, healthy: metav1.ConditionTrue, bad: "InvalidReleaseImage", good: "ValidReleaseImage"},
	{condition: hyperv1.NodePoolValidArchPlatform, healthy: metav1.ConditionTrue, bad: "InvalidArchitecture", good: "ValidArchitecture"},
	{condition: hyperv1.NodePoolSupportedVersionSkew, healthy: metav1.ConditionTrue, bad: "UnsupportedVersionSkew", good: "SupportedVersionSkew"},
	{condition: hyperv1.NodePoolValidMachineConfig, healthy: metav1.ConditionTrue, bad: "InvalidConfiguration", good: "ValidConfiguration"},
	{condition: hyperv1.NodePoolValidGeneratedPayload, healthy: metav1.ConditionTrue, bad: "InvalidPayload", good: "ValidPayload", only: hyperv1.InvalidConfigReason},
	{condition: hyperv1.NodePoolValidPlatformConfig, healthy: metav1.ConditionTrue, bad: "InvalidPlatform", good: "ValidPlatform"},
	{condition: hyperv1.NodePoolValidPlatformImage, healthy: metav1.ConditionTrue, bad: "InvalidPlatformImage"},
	{condition: hyperv1.NodePoolClusterNetworkCIDRConflict, healthy: metav1.ConditionFalse, bad: "NetworkConflict"},
	{condition: hyperv1.NodePoolAllNodesHealthy, healthy: metav1.ConditionTrue, bad: "NodesUnhealthy", good: "NodesHealthy", loss: true, later: true,
		text: "All nodes are healthy."},
	{condition: hyperv1.NodePoolUpdatingVersion, healthy: metav1.ConditionFalse, bad: "VersionUpdateStarted", good: "VersionUpdateCompleted", loss: true, later: true,
		text: "All nodes have the new version."},
	{condition: hyperv1.NodePoolUpdatingConfig, healthy: metav1.ConditionFalse, bad: "ConfigUpdateStarted", good: "ConfigUpdateCompleted", loss: true, later: true,
		text: "All nodes have the new configuration."},
}

// informative are the events that are nobody's fault although their condition is not as it should be.
var informative = map[string]bool{"Paused": true, "VersionUpdateStarted": true, "ConfigUpdateStarted": true}

// tell compares two states of an object.
func tell(transitions []transition, before, after state) []event {
	if after.deleting {
		if before.deleting {
			return nil
		}
		return []event{{corev1.EventTypeNormal, "DeletionRequested", "Delete", "The deletion was asked for and begins."}}
	}
	events := tellHistory(before.history, after.history)
	for _, t := range transitions {
		if t.later && !before.settled {
			continue
		}
		if e := t.tell(kube.Find(before.conditions, t.condition), kube.Find(after.conditions, t.condition)); e != nil {
			events = append(events, *e)
		}
	}
	return events
}

func (t transition) tell(was, is *metav1.Condition) *event {
	if is == nil {
		return nil
	}
	if t.isBad(is) {
		return t.tellBad(was, is)
	}
	wasHealthy := was != nil && was.Status == t.healthy
	if wasHealthy && is.Status == metav1.ConditionUnknown && t.unknown != "" {
		return t.event(corev1.EventTypeWarning, t.unknown, is)
	}
	if is.Status != t.healthy || wasHealthy || !t.recovers(was) {
		return nil
	}
	told := t.event(corev1.EventTypeNormal, t.good, is)
	if is.Message == "" && t.text != "" {
		told.note = t.text
	}
	return told
}

// recovers tells whether good news is news after was. What was in order when it was first looked at did not recover.
func (t transition) recovers(was *metav1.Condition) bool {
	return t.good != "" && (t.loss || t.isBad(was)) && (was != nil || t.healthy != metav1.ConditionFalse)
}

// tellBad tells the begin of what is bad, once.
func (t transition) tellBad(was, is *metav1.Condition) *event {
	begins := !t.isBad(was) || (!t.loss && was.Reason != is.Reason)
	if t.loss {
		begins = was != nil && was.Status == t.healthy
	}
	if !begins || t.bad == "" {
		return nil
	}
	kind := corev1.EventTypeWarning
	if informative[t.bad] {
		kind = corev1.EventTypeNormal
	}
	return t.event(kind, t.bad, is)
}

func (t transition) isBad(c *metav1.Condition) bool {
	if c == nil || c.Status == t.healthy || c.Status == metav1.ConditionUnknown {
		return false
	}
	return t.only == "" || c.Reason == t.only
}

func (t transition) event(kind, reason string, c *metav1.Condition) *event {
	note := c.Message
	if note == "" {
		note = fmt.Sprintf("Condition %s is %s: %s.", c.Type, c.Status, c.Reason)
	}
	return &event{kind, reason, "Observe" + t.condition, note}
}

// tellHistory tells the begin and the end of rollouts from the version history, whose newest entry is the first.
func tellHistory(before, after []hyperv1.UpdateHistory) []event {
	if len(after) == 0 {
		return nil
	}
	now := after[0]
	previous := ""
	for _, entry := range after[1:] {
		if entry.State == hyperv1.CompletedUpdate {
			previous = entry.Version
			break
		}
	}
	same := len(before) > 0 && before[0].Image == now.Image && before[0].StartedTime.Equal(&now.StartedTime)
	switch {
	case now.State == hyperv1.PartialUpdate && !same && previous != "":
		return []event{{corev1.EventTypeNormal, "UpgradeStarted", "Upgrade", fmt.Sprintf("Upgrading from %s to %s.", previous, nameOf(now))}}
	case now.State != hyperv1.CompletedUpdate || (same && before[0].State == hyperv1.CompletedUpdate):
		return nil
	case previous != "":
		return []event{{corev1.EventTypeNormal, "UpgradeCompleted", "Upgrade", fmt.Sprintf("Upgraded from %s to %s.", previous, nameOf(now))}}
	}
	return []event{{corev1.EventTypeNormal, "RolloutCompleted", "Rollout", fmt.Sprintf("Version %s is rolled out.", nameOf(now))}}
}

func nameOf(entry hyperv1.UpdateHistory) string {
	if entry.Version != "" {
		return entry.Version
	}
	return entry.Image
}
