package cluster

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// systemPods are the pods without which a cluster is of no use, by a label of
// each.
var systemPods = []struct{ name, selector string }{
	{"coredns", "k8s-app=kube-dns"},
	{"local-path-provisioner", "app=local-path-provisioner"},
}

// WaitReady blocks until the node and the system's pods are ready. What was
// written before since is the state before the last stop and does not count.
func (c Config) WaitReady(ctx context.Context, since time.Time) error {
	k, err := newClient(c.Kubeconfig())
	if err != nil {
		return err
	}
	since = since.Truncate(time.Second) // as exact as the API's times
	for {
		waiting := k.unready(ctx, since, c.allNodes())
		if waiting == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: see kubectl describe, and %s: %w", waiting, c.path("logs", Kubelet+".log"), context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// unready names the first thing that is not ready yet.
func (k client) unready(ctx context.Context, since time.Time, all []node) string {
	for _, n := range all {
		found, err := k.Resource(nodes).Get(ctx, n.name(), metav1.GetOptions{})
		if err != nil || !hasCondition(found.Object, "Ready", since) {
			return "node " + n.name()
		}
	}
	for _, system := range systemPods {
		list, err := k.Resource(pods).Namespace("kube-system").List(ctx, metav1.ListOptions{LabelSelector: system.selector})
		if err != nil || !anyRuns(list.Items, since) {
			return "pod kube-system/" + system.name
		}
	}
	return ""
}

// anyRuns tells whether one of the pods is ready with a container that was
// started after since.
func anyRuns(pods []unstructured.Unstructured, since time.Time) bool {
	for _, pod := range pods {
		if pod.GetDeletionTimestamp() != nil || !hasCondition(pod.Object, "Ready", time.Time{}) {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
		for _, entry := range containers {
			container, ok := entry.(object)
			if !ok {
				continue
			}
			text, _, _ := unstructured.NestedString(container, "state", "running", "startedAt")
			if started, err := time.Parse(time.RFC3339, text); err == nil && !started.Before(since) {
				return true
			}
		}
	}
	return false
}

// hasCondition tells whether a condition is true, and for a node whether that
// was said after since.
func hasCondition(o object, kind string, since time.Time) bool {
	conditions, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, entry := range conditions {
		condition, ok := entry.(object)
		if !ok || condition["type"] != kind {
			continue
		}
		text, _ := condition["lastHeartbeatTime"].(string)
		heartbeat, err := time.Parse(time.RFC3339, text)
		return condition["status"] == "True" && (since.IsZero() || (err == nil && !heartbeat.Before(since)))
	}
	return false
}
