package contract

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// EtcdMembers is how many members a highly available etcd has.
const EtcdMembers = 3

// Names of the repair of a member of etcd.
const (
	// EtcdRecovery is its Job, and the Role of it.
	EtcdRecovery = "etcd-recovery"
	// EtcdRecoveryAccount is the service account of the Job.
	EtcdRecoveryAccount = "etcd-recovery-sa"
	// EtcdUnrecoverable is the exit code by which the Job says that somebody has to look.
	EtcdUnrecoverable = 3
)

// FailingMembers are the names, in their order, of the pods of etcd whose etcd has ended at least once and does not run now.
func FailingMembers(pods []corev1.Pod) []string {
	var failing []string
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			if c.Name == Etcd && c.State.Waiting != nil && c.RestartCount > 0 && pod.DeletionTimestamp.IsZero() {
				failing = append(failing, pod.Name)
			}
		}
	}
	slices.Sort(failing)
	return failing
}
