package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// Facts are what is known of a hosted cluster.
type Facts struct {
	Now time.Time
	// Cluster is the one that is asked about, with its pools and machines.
	Cluster survey.Cluster
	// Namespace is that of the control plane; Operator that of the operator.
	Namespace, Operator string
	// Pods are those of the control plane, Events the warnings there, newest first.
	Pods   []corev1.Pod
	Events []corev1.Event
	// ExternalDNS are the pods of the program that writes records.
	ExternalDNS []corev1.Pod
	// Logs are last words of containers that do not serve.
	Logs []LogLine
	// Unseen says what could not be read, and why.
	Unseen []string
}

// LogLine is the last line of a container's log.
type LogLine struct{ Pod, Container, Text string }

// Logs reads the end of a container's log; previous is that of the one before the last restart.
type Logs func(ctx context.Context, namespace, pod, container string, previous bool) (string, error)

// LogLines and LogBytes are how much of a log is read to find its last line.
const (
	LogLines = 20
	LogBytes = 64 << 10
)

const (
	// externalDNS is the name of the program, of its label and of its container.
	externalDNS = "external-dns"
	// readLogs is how many logs are read, in logTime altogether.
	readLogs = 6
	logTime  = time.Second
)

// Question is what to gather.
type Question struct {
	Namespace, Name string
	// Operator is the namespace of the operator.
	Operator string
	Now      time.Time
}

// Gather reads the facts in a dozen calls. A cluster that is not there is an error of Kubernetes (apierrors.IsNotFound); what the person may
// not read is told in Unseen.
func Gather(ctx context.Context, c client.Reader, logs Logs, q Question) (*Facts, error) {
	fleet, err := survey.Read(ctx, c, survey.Scope{Namespace: q.Namespace, Cluster: q.Name}, q.Now)
	if err != nil {
		return nil, err
	}
	f := &Facts{Now: q.Now, Cluster: fleet.Clusters[0], Namespace: contract.ControlPlaneNamespace(q.Namespace, q.Name), Operator: q.Operator, Unseen: fleet.Unseen}
	// What stands in a namespace of somebody else is no evidence, and none of this person's business.
	own, err := tenancy.Read(ctx, c, nil, tenancy.Of(f.Cluster.Object))
	switch {
	case tenancy.IsRefusal(err) || apierrors.IsForbidden(err):
		f.Unseen = append(f.Unseen, "pods and events of the control plane are not shown: "+err.Error())
		return f, nil
	case err != nil:
		return nil, err
	case own == nil:
		return f, nil
	}
	if err := f.list(ctx, c); err != nil {
		return nil, err
	}
	f.readLogs(ctx, logs)
	return f, nil
}

// list reads pods and events.
func (f *Facts) list(ctx context.Context, c client.Reader) error {
	pods, events, dns := &corev1.PodList{}, &corev1.EventList{}, &corev1.PodList{}
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	read := func(what string, list client.ObjectList, options ...client.ListOption) {
		all.Go(func() error {
			err := c.List(ctx, list, options...)
			if apierrors.IsForbidden(err) {
				mu.Lock()
				defer mu.Unlock()
				f.Unseen = append(f.Unseen, what+" are not shown: "+err.Error())
				return nil
			}
			if err != nil {
				return fmt.Errorf("list %s: %w", what, err)
			}
			return nil
		})
	}
	read("pods of the control plane", pods, client.InNamespace(f.Namespace))
	read("events of the control plane", events, client.InNamespace(f.Namespace))
	if f.unresolved() {
		read("pods of ExternalDNS", dns, client.InNamespace(f.Operator), client.MatchingLabels{"name": externalDNS})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	f.Pods, f.ExternalDNS = pods.Items, dns.Items
	slices.SortFunc(f.Pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning {
			f.Events = append(f.Events, e)
		}
	}
	slices.SortFunc(f.Events, func(a, b corev1.Event) int {
		return cmp.Or(LastSeen(&b).Compare(LastSeen(&a)), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// LastSeen is when an event was told for the last time.
func LastSeen(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// readLogs takes the last words of containers that do not serve. A log that cannot be read in time is no evidence, and hides none.
func (f *Facts) readLogs(ctx context.Context, logs Logs) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	var mu sync.Mutex
	var all errgroup.Group
	left := readLogs
	ask := func(namespace string, pod *corev1.Pod, container string, previous bool) {
		if left--; left < 0 {
			return
		}
		all.Go(func() error {
			text, err := logs(ctx, namespace, pod.Name, container, previous)
			if line := lastLine(text); err == nil && line != "" {
				mu.Lock()
				defer mu.Unlock()
				f.Logs = append(f.Logs, LogLine{pod.Name, container, line})
			}
			return nil
		})
	}
	for i := range f.Pods {
		pod := &f.Pods[i]
		if component.PodTrouble(f.Pods[i:i+1], f.Now, patience) == "" {
			continue
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			ran := status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil
			if !status.Ready && ran {
				ask(f.Namespace, pod, status.Name, status.State.Running == nil && status.State.Terminated == nil)
			}
		}
	}
	if f.unresolved() {
		for i := range f.ExternalDNS {
			ask(f.Operator, &f.ExternalDNS[i], externalDNS, false)
		}
	}
	_ = all.Wait() // none returns an error
	slices.SortFunc(f.Logs, func(a, b LogLine) int {
		return cmp.Or(strings.Compare(a.Pod, b.Pod), strings.Compare(a.Container, b.Container))
	})
}

// unresolved tells whether a name that ExternalDNS is to publish does not resolve.
func (f *Facts) unresolved() bool {
	reachable := kube.Find(f.Cluster.Object.Status.Conditions, hyperv1.ExternalDNSReachable)
	return reachable != nil && reachable.Status == "False"
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
