package events

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	reporter = contract.Operator
	// maxNote is the longest note that the API server takes, in bytes.
	maxNote = 1024
)

// SetupWithManager begins to tell events when this operator is elected: the one before told its own.
func SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(&observer{cache: mgr.GetCache(), recorder: mgr.GetEventRecorder(reporter)}); err != nil {
		return fmt.Errorf("set the observer of transitions up: %w", err)
	}
	return nil
}

type observer struct {
	cache    cache.Cache
	recorder events.EventRecorder
}

// Start implements manager.Runnable. The caches are those of the controllers: observing costs no request.
func (o *observer) Start(ctx context.Context) error {
	for _, kind := range []client.Object{&hyperv1.HostedCluster{}, &hyperv1.NodePool{}} {
		informer, err := o.cache.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("observe %T: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: o.changed})
		if err != nil {
			return fmt.Errorf("observe %T: %w", kind, err)
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }()
	}
	<-ctx.Done()
	return nil
}

func (o *observer) changed(before, after any) {
	switch is := after.(type) {
	case *hyperv1.HostedCluster:
		if was, ok := before.(*hyperv1.HostedCluster); ok {
			o.record(is, tell(clusterTransitions, clusterState(was), clusterState(is)))
		}
	case *hyperv1.NodePool:
		if was, ok := before.(*hyperv1.NodePool); ok {
			o.record(is, tell(poolTransitions, poolState(was), poolState(is)))
		}
	}
}

func (o *observer) record(about runtime.Object, told []event) {
	for _, e := range told {
		o.recorder.Eventf(about, nil, e.kind, e.reason, e.action, "%s", Note(e.note))
	}
}

// Note is the text as long as the API server takes it for an event.
func Note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	const mark = " ..."
	return strings.ToValidUTF8(text[:maxNote-len(mark)], "") + mark
}

func clusterState(hc *hyperv1.HostedCluster) state {
	s := state{deleting: !hc.DeletionTimestamp.IsZero(), conditions: hc.Status.Conditions}
	if hc.Status.Version != nil {
		s.history = hc.Status.Version.History
	}
	return s
}

func poolState(np *hyperv1.NodePool) state {
	s := state{deleting: !np.DeletionTimestamp.IsZero(), settled: np.Status.Version != ""}
	if np.Status.Version != "" {
		s.history = []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: np.Status.Version}}
	}
	for _, c := range np.Status.Conditions {
		s.conditions = append(s.conditions, metav1.Condition{Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return s
}
