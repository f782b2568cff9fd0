package backup

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// TestFollowing: a node counts once its lease is another than in the backup, or is new, and goes on to count.
func TestFollowing(t *testing.T) {
	at := func(name string, second int) coordinationv1.Lease {
		renewed := metav1.NewMicroTime(time.Date(2026, 11, 23, 12, 0, second, 0, time.UTC))
		return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
	}
	var now []coordinationv1.Lease
	var refused error
	f := &following{leases: func(context.Context, *hyperv1.HostedCluster) ([]coordinationv1.Lease, error) { return now, refused }}
	for i, step := range []struct {
		leases  []coordinationv1.Lease
		refused error
		want    int
	}{
		{nil, errors.New("no such host"), 0},
		{[]coordinationv1.Lease{at("a", 1), at("b", 2)}, nil, 0},
		{[]coordinationv1.Lease{at("a", 1), at("b", 2)}, nil, 0},
		{[]coordinationv1.Lease{at("a", 11), at("b", 2)}, nil, 1},
		{nil, errors.New("refused"), 0},
		{[]coordinationv1.Lease{at("a", 11), at("b", 2), at("c", 30)}, nil, 2},
		{[]coordinationv1.Lease{at("a", 21), at("b", 1), at("c", 30)}, nil, 3},
	} {
		now, refused = step.leases, step.refused
		if got, err := f.count(t.Context(), nil); got != step.want || (err != nil) != (step.refused != nil) {
			t.Errorf("look %d: %d nodes follow, %v; want %d", i, got, err, step.want)
		}
	}
}
