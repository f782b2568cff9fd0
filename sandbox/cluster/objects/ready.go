package objects

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/kubeclient"
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

// WaitReady blocks until the nodes and the system's pods are ready. What was
// written before since is the state before the last stop and does not count. The error names what is not ready.
func WaitReady(ctx context.Context, kubeconfig string, nodeNames []string, since time.Time) error {
	k, err := kubeclient.New(kubeconfig)
	if err != nil {
		return err
	}
	since = since.Truncate(time.Second) // as exact as the API's times
	for {
		waiting := unready(ctx, k, since, nodeNames)
		if waiting == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", waiting, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// unready names the first thing that is not ready yet.
func unready(ctx context.Context, k dynamic.Interface, since time.Time, nodeNames []string) string {
	for _, name := range nodeNames {
		found, err := k.Resource(nodes).Get(ctx, name, metav1.GetOptions{})
		if err != nil || !hasCondition(found.Object, "Ready", since) {
			return "node " + name
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
