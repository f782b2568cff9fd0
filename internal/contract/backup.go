package contract

// BackupResult is what a Job that saves an etcd says in its termination message.
type BackupResult struct {
	// URL of the blob, without a signature.
	URL string `json:"url"`
	// SHA256 of the file, in hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Bytes of the file.
	Bytes int64 `json:"bytes"`
	// Revision of the newest write in it.
	Revision int64 `json:"revision"`
	// Keys that it holds.
	Keys int `json:"keys"`
}

// BackupHashMetadata is the metadata of a blob that has the hash of a backup: who restores it compares.
const BackupHashMetadata = "sha256"

// EtcdBackup is the component that saves an etcd, its service account in the control plane's namespace, and that of the guest, in
// kube-system, whose tokens the identity is federated with.
const EtcdBackup = "etcd-backup"

// EtcdSnapshot is the Secret with the address of the backup that a new etcd begins with.
const EtcdSnapshot = "etcd-snapshot"

// EtcdRestore is the Secret in a control plane's namespace that sends an etcd which has data back to a backup. Its data are the keys below;
// EtcdRestorePhase on it is the operator's note of how far it is.
const (
	EtcdRestore = "etcd-restore"
	// EtcdRestoreURL is the signed address of the backup; it is taken away once it has served.
	EtcdRestoreURL = "url"
	// EtcdRestoreID tells one request from the next: a member that began with it does not do so again.
	EtcdRestoreID = "id"
	// EtcdRestoreRevision is the revision at which the restored etcd begins, in decimal digits: one that no etcd before has reached. It is the time
	// in microseconds since 1970, the same for every member.
	EtcdRestoreRevision = "revision"
	// EtcdRestoreBackup is the backup's name, for people.
	EtcdRestoreBackup = "backup"

	EtcdRestorePhase = "hypershift.openshift.io/etcd-restore-phase"
	// EtcdRestoreRefilling: nothing runs on the former data any more. EtcdRestoreServing: every member has the backup's, and API servers
	// start. EtcdRestoreDone: all else does.
	EtcdRestoreRefilling = "Refilling"
	EtcdRestoreServing   = "Serving"
	EtcdRestoreDone      = "Done"
)
