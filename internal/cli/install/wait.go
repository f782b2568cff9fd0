package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// errStuck ends a wait that time cannot help.
var errStuck = errors.New("the rollout makes no progress")

// waitForOperator waits for the operator, and for dashboard and router where they come with it.
func (i *installer) waitForOperator(ctx context.Context) error {
	if err := i.waitForDeployment(ctx, "operator"); err != nil {
		return err
	}
	i.reportExternalDNS(ctx)
	if i.opts.Dashboard {
		if err := i.waitForDeployment(ctx, "dashboard"); err != nil {
			return err
		}
	}
	if !i.opts.Router {
		return nil
	}
	if err := i.waitForDeployment(ctx, "router"); err != nil {
		return err
	}
	i.reportRouter(ctx)
	return nil
}

// reportRouter says where names below the ingress domain have to lead. It does not wait: a load balancer may take its time.
func (i *installer) reportRouter(ctx context.Context) {
	key := client.ObjectKey{Namespace: i.opts.Namespace, Name: "router"}
	service := &corev1.Service{}
	if err := i.client.Get(ctx, key, service); err != nil {
		i.say("warning: cannot read Service %s: %v", key, err)
		return
	}
	address := "the address that `kubectl -n " + key.Namespace + " get service router` will show"
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		address = ingress.IP + ingress.Hostname
	}
	i.say("the DNS name *.%s must lead to %s", i.opts.IngressDomain, address)
}

// waitForDeployment says every change, and what blocks, until all pods of the Deployment run.
func (i *installer) waitForDeployment(ctx context.Context, name string) error {
	key := client.ObjectKey{Namespace: i.opts.Namespace, Name: name}
	i.say("waiting for Deployment %s", key)
	watch := progress.NewWatch(i.say, i.patience)
	err := management.Within(ctx, 500*time.Millisecond, i.patience, func(ctx context.Context) (bool, error) {
		d := &appsv1.Deployment{}
		err := i.client.Get(ctx, key, d)
		if management.IsTransient(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("cannot read Deployment %s: %w", key, err)
		}
		if rolledOut(d) {
			return true, nil
		}
		state := fmt.Sprintf("%d of %d replicas are available", d.Status.AvailableReplicas, *d.Spec.Replicas)
		if cause := i.blocker(ctx, d); cause != "" {
			state += "; " + cause
		}
		watch.Saw(state)
		if condition(d, appsv1.DeploymentProgressing) == "ProgressDeadlineExceeded" {
			return false, errStuck
		}
		return false, nil
	})
	switch {
	case err == nil:
		i.say("the %s is available", name)
		return nil
	case errors.Is(err, management.ErrTimeUp), errors.Is(err, errStuck):
		return fmt.Errorf("the %s did not become available within %s: %s; see `kubectl -n %s describe pods -l name=%s`", name, i.patience, watch.Last(), key.Namespace, name)
	}
	return err
}

// reportExternalDNS does not wait: the operator works without it, and its image may be one that this cluster cannot pull.
func (i *installer) reportExternalDNS(ctx context.Context) {
	if i.opts.ExternalDNS.Provider == "" {
		return
	}
	d := &appsv1.Deployment{}
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: i.opts.Namespace, Name: contract.ExternalDNS}, d); err != nil {
		i.say("warning: cannot read Deployment external-dns: %v", err)
	} else if !rolledOut(d) {
		i.say("%s", strings.TrimSuffix("ExternalDNS is not available yet: "+i.blocker(ctx, d), ": "))
	}
}

func rolledOut(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas >= *d.Spec.Replicas &&
		s.Replicas == s.UpdatedReplicas && s.AvailableReplicas == s.UpdatedReplicas
}

// condition returns the reason of a condition.
func condition(d *appsv1.Deployment, name appsv1.DeploymentConditionType) string {
	for _, c := range d.Status.Conditions {
		if c.Type == name {
			return c.Reason
		}
	}
	return ""
}

// blocker explains what keeps the pods from running; "" when nothing is wrong yet.
func (i *installer) blocker(ctx context.Context, d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Reason + ": " + printing.OneLine(errors.New(c.Message))
		}
	}
	pods := &corev1.PodList{}
	if err := i.client.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return ""
	}
	for n := range pods.Items {
		pod := &pods.Items[n]
		if why := podProblem(pod); why != "" && pod.DeletionTimestamp.IsZero() {
			return "pod " + pod.Name + ": " + why
		}
	}
	return ""
}

// podProblem tells why a pod does not run: no node takes it, its image cannot be pulled, or its program ends.
func podProblem(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		switch w := s.State.Waiting; {
		case w == nil, w.Reason == "ContainerCreating", w.Reason == "PodInitializing":
		case s.LastTerminationState.Terminated != nil:
			t := s.LastTerminationState.Terminated
			return fmt.Sprintf("%s: exit code %d: %s", w.Reason, t.ExitCode, lastLine(t.Message))
		case strings.Contains(w.Reason, "Image"):
			return fmt.Sprintf("%s: %s; check --hypershift-image and --pull-secret", w.Reason, w.Message)
		default:
			return w.Reason + ": " + w.Message
		}
	}
	return ""
}

// lastLine is where a program that ends writes why.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
