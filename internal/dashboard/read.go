package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey"
)

// view is what a page shows.
type view struct {
	// Where it stands; none of it is part of what its version names.
	Root    string `json:"-"`
	Live    string `json:"-"`
	Version string `json:"-"`
	// Cluster is the name of the one that the page is about; empty for the fleet.
	Cluster string `json:"-"`
	// Who has signed in.
	Who string `json:"-"`

	Fleet *survey.Fleet
	// One is the cluster of a page about one, Finding why it is as it is, Events what happened, newest first.
	One     *survey.Cluster
	Finding *explain.Finding
	Events  []happening
	Unseen  []string
	// Trouble is why there is nothing to show.
	Trouble string
}

// happening is an event of Kubernetes.
type happening struct {
	At                        time.Time
	Warning                   bool
	Reason, Object, Says, Who string
	Count                     int32
}

// newest is how many events a page has.
const newest = 50

func (s *server) read(ctx context.Context, viewer *Viewer, p page) (*view, error) {
	if p.name == "" {
		fleet, err := survey.Read(ctx, viewer.Client, survey.Scope{Namespace: s.Namespace}, s.Now())
		if err != nil {
			return nil, fmt.Errorf("cannot read the hosted clusters: %w", err)
		}
		return &view{Fleet: fleet, Unseen: fleet.Unseen}, nil
	}
	if s.Namespace != "" && p.namespace != s.Namespace {
		return nil, apierrors.NewNotFound(hyperv1.GroupVersion.WithResource("hostedclusters").GroupResource(), p.namespace+"/"+p.name)
	}
	facts, err := explain.Gather(ctx, viewer.Client, viewer.Logs, explain.Question{Namespace: p.namespace, Name: p.name, Operator: s.Operator, Now: s.Now()})
	if err != nil {
		return nil, fmt.Errorf("cannot look at HostedCluster %s/%s: %w", p.namespace, p.name, err)
	}
	told := explain.Cluster(facts)
	v := &view{One: &facts.Cluster, Finding: &told, Unseen: facts.Unseen}
	events := &corev1.EventList{}
	switch err := viewer.Client.List(ctx, events, client.InNamespace(p.namespace)); {
	case apierrors.IsForbidden(err):
		v.Unseen = append(v.Unseen, "events of the hosted cluster are not shown: "+err.Error())
	case err != nil:
		return nil, fmt.Errorf("cannot read the events of namespace %s: %w", p.namespace, err)
	}
	v.Events = happenings(slices.Concat(about(events.Items, &facts.Cluster), facts.Events))
	return v, nil
}

// about are the events of a cluster and its pools.
func about(events []corev1.Event, cluster *survey.Cluster) []corev1.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool {
		switch e.InvolvedObject.Kind {
		case "HostedCluster":
			return e.InvolvedObject.Name != cluster.Name
		case "NodePool":
			return !slices.ContainsFunc(cluster.NodePools, func(p survey.Pool) bool { return p.Name == e.InvolvedObject.Name })
		}
		return true
	})
}

func happenings(events []corev1.Event) []happening {
	var out []happening
	for i := range events {
		e := &events[i]
		out = append(out, happening{At: explain.LastSeen(e).UTC(), Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Object: e.InvolvedObject.Kind + " " + e.InvolvedObject.Name,
			Says: visible(e.Message), Who: cmp.Or(e.ReportingController, e.Source.Component), Count: max(e.Count, 1)})
	}
	slices.SortStableFunc(out, func(a, b happening) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Object, b.Object)) })
	return out[:min(len(out), newest)]
}
