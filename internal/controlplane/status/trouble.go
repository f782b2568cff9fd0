package status

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
)

// podPatience is how long a container may run before it is ready.
const podPatience = time.Minute

// explained are the workloads whose pods say why they do not serve.
var explained = []string{etcd.Name, contract.APIServer}

// WatchedPods are all that a control-plane-operator has to know: those that say why nothing serves, API servers, because a change of the
// encryption key waits for the last one with the old key, and what repairs etcd, whose last words are told.
func WatchedPods() labels.Selector {
	watched, err := labels.NewRequirement(component.LabelApp, selection.In, append([]string{contract.EtcdRecovery}, explained...))
	if err != nil {
		panic(err) // the names are constants
	}
	return labels.NewSelector().Add(*watched)
}

// findTrouble asks the pods of what does not serve.
func (s *Status) findTrouble(ctx context.Context) {
	s.trouble = map[string]string{}
	for _, name := range explained {
		if s.Results.Of(name).Available.Status == metav1.ConditionTrue {
			continue
		}
		pods := &corev1.PodList{}
		if err := s.Client.List(ctx, pods, client.InNamespace(s.HCP.Namespace), client.MatchingLabels{component.LabelApp: name}); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list pods", "app", name)
			continue
		}
		s.trouble[name] = component.PodTrouble(pods.Items, s.Now(), podPatience)
	}
}

// withTrouble is the message with what the pods of the workload say.
func (s *Status) withTrouble(workload, message string) string {
	if trouble := s.trouble[workload]; trouble != "" {
		return message + ": " + trouble
	}
	return message
}
