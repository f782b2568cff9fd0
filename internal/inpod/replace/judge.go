package replace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Unrecoverable says why nothing is repaired: somebody has to look.
type Unrecoverable struct{ Reason string }

func (e *Unrecoverable) Error() string {
	return e.Reason + ". Nothing was changed: see docs/etcd-majority.md, and delete Job " + contract.EtcdRecovery + " to have it look again"
}

// ExitCode is that of the program which ends with the error.
func (e *Unrecoverable) ExitCode() int { return contract.EtcdUnrecoverable }

// findings are one look at etcd and its pods. Members are called by the names of their pods.
type findings struct {
	// expected are all members that there should be.
	expected []string
	// unheard is why no member could be asked for the list of members; it is nil when one answered.
	unheard error
	// members are those that the cluster counts.
	members []string
	// unhealthy are members that do not take part: they answer no quorum read, or raise an alarm.
	unhealthy map[string]error
	// failing are the pods whose etcd does not start.
	failing []string
	// updating: the StatefulSet rolls out a change.
	updating bool
}

// judge says which member is replaced; none when all take part. An error of type Unrecoverable is final, others pass.
func (f findings) judge() (string, error) {
	if f.unheard != nil {
		return "", &Unrecoverable{fmt.Sprintf("no member of etcd says who the others are: the majority is lost (%v)", f.unheard)}
	}
	if len(f.members) <= 1 {
		return "", &Unrecoverable{fmt.Sprintf("etcd counts %d members, and one of them has to have its data from another", len(f.members))}
	}
	var lost []string
	for _, name := range f.expected {
		if _, ill := f.unhealthy[name]; ill || !slices.Contains(f.members, name) {
			lost = append(lost, name)
		}
	}
	switch {
	case len(lost) == 0:
		return "", nil
	case len(lost) > 1:
		return "", &Unrecoverable{fmt.Sprintf("members %s of etcd do not take part, and only one can be replaced by the others", strings.Join(lost, ", "))}
	case f.updating:
		return "", fmt.Errorf("member %s does not take part, and a change of etcd is rolled out: the repair begins when that is done", lost[0])
	case len(f.failing) > 1 || len(f.failing) == 1 && f.failing[0] != lost[0]:
		return "", &Unrecoverable{fmt.Sprintf("member %s of etcd does not take part, but the pods that fail are %s", lost[0], strings.Join(f.failing, ", "))}
	case len(f.failing) == 0:
		return "", fmt.Errorf("member %s does not take part although its pod does not fail: it may only be slow", lost[0])
	}
	return lost[0], nil
}
