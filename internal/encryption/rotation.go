package encryption

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// States of a change of the key.
const (
	// ReadOnlyDeploy: the old key writes, every API server learns to read what the new one will write.
	ReadOnlyDeploy = "ReadOnlyDeploy"
	// WritePromote: the new key writes, the old one is still read.
	WritePromote = "WritePromote"
	// Migrating: what the old key wrote is written again.
	Migrating = "Migrating"
	// Completed: nothing needs the old key any more.
	Completed = "Completed"
	// Interrupted: the user asked for another key before.
	Interrupted = "Interrupted"
)

// historyKept is how many changes of the key the status remembers.
const historyKept = 5

// Status is what the rotation keeps in the status of a control plane; a restart of the operator goes on from there.
type Status = hyperv1.SecretEncryptionStatus

// Facts decide how a rotation goes on.
type Facts struct {
	// Wanted is the key that the specification asks for; Backup the earlier one it names, if any.
	Wanted, Backup *Key
	// Fresh: there is no API server yet, so nothing was written in clear text.
	Fresh bool
	// Converged: every API server, also one that is ending, runs with the configuration of the present state.
	Converged bool
	// Migrated: everything was written again since the present state began.
	Migrated bool
	Now      time.Time
}

// Advance takes at most one step and returns the new status; the given one is not changed:
//
//  1. no key is tracked yet: a new cluster takes the wanted key at once, one that has data begins a rotation from clear text
//  2. another key is wanted than the tracked ones: a rotation begins, is interrupted, or, once the new key has written, turned round
//  3. otherwise a running rotation goes on: ReadOnlyDeploy -> WritePromote -> Migrating -> Completed
func Advance(status *Status, f Facts) *Status {
	next := &Status{}
	if status != nil {
		next = status.DeepCopy()
	}
	switch running := Running(next); {
	case next.ActiveKey == nil && running == nil && f.Fresh:
		next.ActiveKey = f.Backup
		if next.ActiveKey == nil {
			next.ActiveKey = f.Wanted
		}
	case running == nil:
		if Same(next.ActiveKey, f.Wanted) {
			// Only the Secret's name may differ.
			next.ActiveKey = f.Wanted
			return next
		}
		begin(next, f.Wanted, ReadOnlyDeploy, f.Now)
	case Same(next.TargetKey, f.Wanted):
		proceed(next, running, f)
	case running.State == ReadOnlyDeploy:
		// Nothing was written with the new key.
		end(running, Interrupted, f.Now)
		next.TargetKey = nil
	case Same(next.ActiveKey, f.Wanted):
		// Both keys can be read everywhere, so the old one may write at once.
		end(running, Interrupted, f.Now)
		next.ActiveKey = next.TargetKey
		begin(next, f.Wanted, WritePromote, f.Now)
	default:
		// A third key has to wait: what two keys wrote lies in etcd.
		proceed(next, running, f)
	}
	return next
}

// Running is the rotation that is under way, nil without one.
func Running(status *Status) *hyperv1.SecretEncryptionRotation {
	if status == nil || status.TargetKey == nil || len(status.History) == 0 {
		return nil
	}
	return &status.History[0]
}

// Migration identifies what has to be written again; empty when nothing has to.
func Migration(status *Status) string {
	running := Running(status)
	if running == nil || running.State != Migrating {
		return ""
	}
	return running.StartedTime.UTC().Format(time.RFC3339) + "/" + running.To.Fingerprint
}

func begin(status *Status, target *Key, state string, now time.Time) {
	status.TargetKey = target.DeepCopy()
	from := hyperv1.SecretEncryptionFingerprint{Provider: target.Provider, Fingerprint: Fingerprint(status.ActiveKey)}
	if status.ActiveKey != nil {
		from.Provider = status.ActiveKey.Provider
	}
	entry := hyperv1.SecretEncryptionRotation{
		From: from, To: hyperv1.SecretEncryptionFingerprint{Provider: target.Provider, Fingerprint: Fingerprint(target)},
		State: state, StartedTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	status.History = append([]hyperv1.SecretEncryptionRotation{entry}, status.History...)
	status.History = status.History[:min(len(status.History), historyKept)]
}

func end(rotation *hyperv1.SecretEncryptionRotation, state string, now time.Time) {
	rotation.State = state
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	rotation.CompletionTime = &at
}

func proceed(status *Status, running *hyperv1.SecretEncryptionRotation, f Facts) {
	switch {
	case running.State == ReadOnlyDeploy && f.Converged:
		running.State = WritePromote
	case running.State == WritePromote && f.Converged:
		running.State = Migrating
	case running.State == Migrating && f.Migrated:
		end(running, Completed, f.Now)
		status.ActiveKey, status.TargetKey = status.TargetKey, nil
	}
}

// Keys of the present state: what the API server writes with, and what it must also be able to read.
func Keys(status *Status) (write, read *Key) {
	if status == nil {
		return nil, nil
	}
	running := Running(status)
	switch {
	case running == nil:
		return status.ActiveKey, nil
	case running.State == ReadOnlyDeploy:
		return status.ActiveKey, status.TargetKey
	}
	return status.TargetKey, status.ActiveKey
}
