package events

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// having is a state with conditions written as "Type=Status/Reason: message".
func having(texts ...string) state {
	s := state{settled: true}
	for _, text := range texts {
		head, message, _ := strings.Cut(text, ": ")
		kind, rest, _ := strings.Cut(head, "=")
		status, reason, _ := strings.Cut(rest, "/")
		s.conditions = append(s.conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
	return s
}

func TestTell(t *testing.T) {
	for name, test := range map[string]struct {
		transitions   []transition
		before, after state
		want          string
	}{
		"nothing changes":               {clusterTransitions, having("Available=True/AsExpected"), having("Available=True/AsExpected"), ""},
		"a healthy message changes":     {clusterTransitions, having("Available=True/AsExpected: a"), having("Available=True/AsExpected: b"), ""},
		"available for the first time":  {clusterTransitions, having("Available=Unknown/StatusUnknown"), having("Available=True/AsExpected: It serves."), "Normal Available It serves."},
		"available again":               {clusterTransitions, having("Available=False/X"), having("Available=True/AsExpected"), "Normal Available Condition Available is True: AsExpected."},
		"not available yet":             {clusterTransitions, having("Available=Unknown/StatusUnknown"), having("Available=False/Waiting: etcd"), ""},
		"an outage":                     {clusterTransitions, having("Available=True/AsExpected"), having("Available=False/EtcdWaitingForQuorum: 1 of 3"), "Warning Unavailable 1 of 3"},
		"the outage's cause changes":    {clusterTransitions, having("Available=False/A: a"), having("Available=False/B: b"), ""},
		"invalid from the beginning":    {clusterTransitions, having(), having("ValidConfiguration=False/InvalidConfiguration: bad id"), "Warning InvalidConfiguration bad id"},
		"invalid for another reason":    {clusterTransitions, having("ValidReleaseImage=False/InvalidImage: a"), having("ValidReleaseImage=False/SecretNotFound: b"), "Warning InvalidReleaseImage b"},
		"still invalid":                 {clusterTransitions, having("ValidReleaseImage=False/InvalidImage: try 1"), having("ValidReleaseImage=False/InvalidImage: try 2"), ""},
		"valid from the beginning":      {clusterTransitions, having(), having("ValidConfiguration=True/AsExpected"), ""},
		"repaired":                      {clusterTransitions, having("ValidConfiguration=False/X"), having("ValidConfiguration=True/AsExpected: good"), "Normal ValidConfiguration good"},
		"unknown is neither":            {clusterTransitions, having("ValidAzureKMSConfig=True/A"), having("ValidAzureKMSConfig=Unknown/B"), ""},
		"nobody knows any more":         {clusterTransitions, having("Available=True/A"), having("Available=Unknown/B: the operator is away"), "Warning AvailabilityUnknown the operator is away"},
		"somebody knows again":          {clusterTransitions, having("Available=Unknown/B"), having("Available=True/A: It serves."), "Normal Available It serves."},
		"a condition goes away":         {clusterTransitions, having("Available=True/AsExpected"), having(), ""},
		"paused":                        {clusterTransitions, having("ReconciliationActive=True/A"), having("ReconciliationActive=False/ReconciliationPaused: until then"), "Normal Paused until then"},
		"resumed":                       {clusterTransitions, having("ReconciliationActive=False/P"), having("ReconciliationActive=True/A: on"), "Normal Resumed on"},
		"an upgrade is blocked":         {clusterTransitions, having("Progressing=False/AsExpected"), having("Progressing=True/Blocked: not upgradeable"), "Warning UpgradeBlocked not upgradeable"},
		"progress by itself is silent":  {clusterTransitions, having("Progressing=False/AsExpected"), having("Progressing=True/Progressing: moving"), ""},
		"degraded is not a begin":       {clusterTransitions, having(), having("Degraded=False/AsExpected"), ""},
		"degraded":                      {clusterTransitions, having("Degraded=False/AsExpected"), having("Degraded=True/UnavailableReplicas: etcd"), "Warning Degraded etcd"},
		"nodes of a pool":               {poolTransitions, having("Ready=False/X"), having("Ready=True/AsExpected"), "Normal Ready The node pool has all its nodes."},
		"a pool begins an update":       {poolTransitions, having("UpdatingVersion=False/AsExpected"), having("UpdatingVersion=True/AsExpected: to 4.22"), "Normal VersionUpdateStarted to 4.22"},
		"a pool ends an update":         {poolTransitions, having("UpdatingConfig=True/AsExpected"), having("UpdatingConfig=False/AsExpected"), "Normal ConfigUpdateCompleted All nodes have the new configuration."},
		"a pool's wait is no problem":   {poolTransitions, having(), having("ValidGeneratedPayload=False/NotFound: not yet"), ""},
		"a pool's config is no payload": {poolTransitions, having(), having("ValidGeneratedPayload=False/InvalidConfig: bad"), "Warning InvalidPayload bad"},
		"two at once": {clusterTransitions, having("Available=True/A", "EtcdAvailable=True/A"), having("Available=False/B: no etcd", "EtcdAvailable=False/C: 0 of 1"),
			"Warning Unavailable no etcd; Warning EtcdUnavailable 0 of 1"},
		"a deletion begins": {clusterTransitions, having("Available=True/A"), state{deleting: true}, "Normal DeletionRequested The deletion was asked for and begins."},
		"a deletion goes on": {clusterTransitions, state{deleting: true, conditions: having("Available=True/A").conditions},
			state{deleting: true, conditions: having("Available=False/B").conditions}, ""},
	} {
		if got := told(tell(test.transitions, test.before, test.after)); got != test.want {
			t.Errorf("%s: told %q, want %q", name, got, test.want)
		}
	}
}

func told(all []event) string {
	var texts []string
	for _, e := range all {
		texts = append(texts, strings.Join([]string{e.kind, e.reason, e.note}, " "))
	}
	return strings.Join(texts, "; ")
}

// TestFirstRolloutIsQuiet: while the first nodes come, it is no news that some are not there.
func TestFirstRolloutIsQuiet(t *testing.T) {
	before, after := having("AllNodesHealthy=True/A", "UpdatingVersion=True/A"), having("AllNodesHealthy=False/B", "UpdatingVersion=False/A")
	before.settled = false
	if got := told(tell(poolTransitions, before, after)); got != "" {
		t.Errorf("told %q", got)
	}
}

func TestTellHistory(t *testing.T) {
	begun := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	entry := func(state hyperv1.UpdateState, version string) hyperv1.UpdateHistory {
		return hyperv1.UpdateHistory{State: state, Version: version, Image: "quay.io/release:" + version, StartedTime: begun}
	}
	partial, done := entry(hyperv1.PartialUpdate, "4.21.0"), entry(hyperv1.CompletedUpdate, "4.21.0")
	next, nextDone := entry(hyperv1.PartialUpdate, "4.22.0"), entry(hyperv1.CompletedUpdate, "4.22.0")
	for name, test := range map[string]struct {
		before, after []hyperv1.UpdateHistory
		want          string
	}{
		"nothing yet":         {nil, nil, ""},
		"first rollout begun": {nil, []hyperv1.UpdateHistory{partial}, ""},
		"first rollout done":  {[]hyperv1.UpdateHistory{partial}, []hyperv1.UpdateHistory{done}, "Normal RolloutCompleted Version 4.21.0 is rolled out."},
		"at rest":             {[]hyperv1.UpdateHistory{done}, []hyperv1.UpdateHistory{done}, ""},
		"upgrade begun":       {[]hyperv1.UpdateHistory{done}, []hyperv1.UpdateHistory{next, done}, "Normal UpgradeStarted Upgrading from 4.21.0 to 4.22.0."},
		"upgrade goes on":     {[]hyperv1.UpdateHistory{next, done}, []hyperv1.UpdateHistory{next, done}, ""},
		"upgrade done":        {[]hyperv1.UpdateHistory{next, done}, []hyperv1.UpdateHistory{nextDone, done}, "Normal UpgradeCompleted Upgraded from 4.21.0 to 4.22.0."},
	} {
		if got := told(tellHistory(test.before, test.after)); got != test.want {
			t.Errorf("%s: told %q, want %q", name, got, test.want)
		}
	}
}

// TestObserver: what changes of the two kinds comes to the recorder, cut to what the API server takes.
func TestObserver(t *testing.T) {
	recorder := clientevents.NewFakeRecorder(10)
	o := &observer{recorder: recorder}
	before, after := &hyperv1.HostedCluster{}, &hyperv1.HostedCluster{}
	after.Status.Conditions = having("ValidConfiguration=False/X: " + strings.Repeat("ä", maxNote)).conditions
	o.changed(before, after)
	o.changed(after, after)
	got := <-recorder.Events
	_, note, _ := strings.Cut(got, "InvalidConfiguration ")
	if !strings.HasPrefix(got, "Warning ") || len(note) > maxNote || !utf8.ValidString(note) || !strings.HasSuffix(note, "ä ...") {
		t.Errorf("%d bytes: %.80s", len(note), got)
	}
	was, is := &hyperv1.NodePool{}, &hyperv1.NodePool{}
	is.Status.Version = "4.21.0"
	is.Status.Conditions = []hyperv1.NodePoolCondition{{Type: "Ready", Status: corev1.ConditionTrue, Reason: "AsExpected"}}
	o.changed(was, is)
	if first, second := <-recorder.Events, <-recorder.Events; first != "Normal RolloutCompleted Version 4.21.0 is rolled out." || second != "Normal Ready The node pool has all its nodes." {
		t.Errorf("%q, %q", first, second)
	}
	gone := is.DeepCopy()
	gone.DeletionTimestamp = ptr.To(metav1.Now())
	o.changed(is, gone)
	if got := <-recorder.Events; got != "Normal DeletionRequested The deletion was asked for and begins." {
		t.Error(got)
	}
	select {
	case extra := <-recorder.Events:
		t.Errorf("told too much: %s", extra)
	default:
	}
}

// TestTransitionsAreOfKnownConditions: a typing error would tell nothing for ever; reasons of events are single words.
func TestTransitionsAreOfKnownConditions(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1beta1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			known = append(known, value)
		}
		return true
	})
	for _, t0 := range slices.Concat(clusterTransitions, poolTransitions) {
		if !slices.Contains(known, t0.condition) || t0.bad == "" || strings.ContainsAny(t0.bad+t0.good, " .") {
			t.Errorf("%+v", t0)
		}
	}
}
