package oadp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/cronspec"
)

const (
	storageLocationLabel = "velero.io/storage-location"
	clusterLabel         = "hypershift.openshift.io/hosted-cluster"
	namespaceLabel       = "hypershift.openshift.io/hosted-cluster-namespace"
	csiTimeout           = 10 * time.Minute
)

// included is what a hosted cluster on Azure consists of.
var included = []string{
	"serviceaccounts", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io", "pods", "persistentvolumeclaims", "persistentvolumes",
	"configmaps", "secrets", "services", "deployments.apps", "statefulsets.apps", "poddisruptionbudgets.policy", "priorityclasses.scheduling.k8s.io",
	"hostedclusters.hypershift.openshift.io", "nodepools.hypershift.openshift.io", "hostedcontrolplanes.hypershift.openshift.io",
	"clusters.cluster.x-k8s.io", "machinedeployments.cluster.x-k8s.io", "machinesets.cluster.x-k8s.io", "machines.cluster.x-k8s.io",
	"azureclusters.infrastructure.cluster.x-k8s.io", "azuremachinetemplates.infrastructure.cluster.x-k8s.io", "azuremachines.infrastructure.cluster.x-k8s.io",
	"routes.route.openshift.io",
}

// notRestored is what a management cluster makes by itself, and what is Velero's own.
var notRestored = []string{
	"nodes", "events", "events.events.k8s.io", "csinodes.storage.k8s.io", "volumeattachments.storage.k8s.io",
	"backups.velero.io", "restores.velero.io", "backuprepositories.velero.io", "resticrepositories.velero.io",
}

// words for schedules.
var words = map[string]string{
	"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 0", "monthly": "0 0 1 * *", "yearly": "0 0 1 1 *",
	"daily-1am": "0 1 * * *", "daily-2am": "0 2 * * *", "daily-3am": "0 3 * * *", "daily-6am": "0 6 * * *", "daily-noon": "0 12 * * *",
	"weekly-sunday": "0 0 * * 0", "weekly-monday": "0 0 * * 1", "weekly-friday": "0 0 * * 5", "weekly-saturday": "0 0 * * 6",
}

// backup is what a Backup and the template of a Schedule have.
type backup struct {
	request
	location            string
	ttl                 time.Duration
	moveData, fileLevel bool
	resources           []string
}

func (b *backup) flags(cmd *cobra.Command, moveData bool) {
	flags := cmd.Flags()
	flags.StringVar(&b.location, "storage-location", "default", "BackupStorageLocation")
	flags.DurationVar(&b.ttl, "ttl", 2*time.Hour, "how long a backup is kept")
	flags.BoolVar(&b.moveData, "snapshot-move-data", moveData, "move the data of volume snapshots to the storage location")
	flags.BoolVar(&b.fileLevel, "default-volumes-to-fs-backup", false, "save volumes file by file")
	flags.StringSliceVar(&b.resources, "included-resources", nil, "resources to include instead of those that a hosted cluster consists of")
}

func (b *backup) spec() (map[string]any, error) {
	if b.ttl <= 0 {
		return nil, fmt.Errorf("--ttl %s keeps nothing; use a duration like 2h", b.ttl)
	}
	resources := b.resources
	if len(resources) == 0 {
		resources = included
	}
	return map[string]any{
		"includedNamespaces": b.namespaces(), "includedResources": list(resources), "storageLocation": b.location, "ttl": b.ttl.String(),
		"csiSnapshotTimeout": csiTimeout.String(), "dataMover": "velero", "snapshotVolumes": true, "snapshotMoveData": b.moveData, "defaultVolumesToFsBackup": b.fileLevel,
	}, nil
}

func nothing(context.Context) error { return nil }

// NewBackupCommand is create oadp-backup.
func NewBackupCommand() *cobra.Command {
	b := &backup{}
	cmd := b.command(&cobra.Command{
		Use: "oadp-backup", Short: "Save a hosted cluster with OADP or Velero",
		Example: "  hypershift create oadp-backup --hc-name demo --hc-namespace clusters\n  hypershift create oadp-backup --hc-name demo --hc-namespace clusters --render",
	}, "Backup", b.backupObject, nothing)
	b.flags(cmd, true)
	return cmd
}

func (b *backup) backupObject() (*unstructured.Unstructured, error) {
	spec, err := b.spec()
	if err != nil {
		return nil, err
	}
	return b.named("Backup", map[string]string{storageLocationLabel: b.location}, spec), nil
}

// schedule is what create oadp-schedule was asked for.
type schedule struct {
	backup
	when                                 string
	paused, ownerReferences, skipAtFirst bool
}

// NewScheduleCommand is create oadp-schedule.
func NewScheduleCommand() *cobra.Command {
	s := &schedule{}
	cmd := s.command(&cobra.Command{
		Use: "oadp-schedule", Short: "Save a hosted cluster with OADP or Velero again and again",
		Example: "  hypershift create oadp-schedule --hc-name demo --hc-namespace clusters --schedule daily-2am --ttl 168h\n  hypershift create oadp-schedule --hc-name demo --hc-namespace clusters --schedule @weekly --render",
	}, "Schedule", s.object, nothing)
	s.flags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&s.when, "schedule", "", "five fields of cron, or a word: hourly, daily, weekly, monthly, yearly, daily-{1am,2am,3am,6am,noon}, weekly-{monday,friday,saturday,sunday}")
	flags.BoolVar(&s.paused, "paused", false, "make no backup until it is resumed")
	flags.BoolVar(&s.ownerReferences, "use-owner-references", false, "delete the backups with the Schedule")
	flags.BoolVar(&s.skipAtFirst, "skip-immediately", false, "make no backup right away where one is due")
	_ = cmd.MarkFlagRequired("schedule")
	return cmd
}

func (s *schedule) object() (*unstructured.Unstructured, error) {
	cron, err := cronOf(s.when)
	if err != nil {
		return nil, err
	}
	template, err := s.spec()
	if err != nil {
		return nil, err
	}
	return s.named("Schedule", map[string]string{clusterLabel: s.cluster, namespaceLabel: s.clusterNamespace}, map[string]any{
		"schedule": cron, "template": template, "paused": s.paused, "useOwnerReferencesInBackup": s.ownerReferences, "skipImmediately": s.skipAtFirst}), nil
}

// cronOf reads a word or the five fields of cron.
func cronOf(text string) (string, error) {
	if cron, known := words[strings.TrimPrefix(text, "@")]; known {
		return cron, nil
	}
	cron := strings.Join(strings.Fields(text), " ")
	if _, err := cronspec.Parse(cron); err != nil {
		return "", fmt.Errorf("--schedule: %w; --help has more words", err)
	}
	return cron, nil
}

// restore is what create oadp-restore was asked for.
type restore struct {
	request
	fromBackup, fromSchedule, existing string
	volumes, nodePorts                 bool
}

// NewRestoreCommand is create oadp-restore.
func NewRestoreCommand() *cobra.Command {
	r := &restore{}
	cmd := r.command(&cobra.Command{
		Use: "oadp-restore", Short: "Bring a hosted cluster back that OADP or Velero saved",
		Example: "  hypershift create oadp-restore --hc-name demo --hc-namespace clusters --from-backup demo-clusters-x2k9wq\n  hypershift create oadp-restore --hc-name demo --hc-namespace clusters --from-schedule nightly --existing-resource-policy update --render",
	}, "Restore", r.object, r.source)
	flags := cmd.Flags()
	flags.StringVar(&r.fromBackup, "from-backup", "", "Backup to restore")
	flags.StringVar(&r.fromSchedule, "from-schedule", "", "Schedule whose newest Backup is restored")
	flags.StringVar(&r.existing, "existing-resource-policy", "", "what becomes of objects that exist: update or none; Velero's default when empty")
	flags.BoolVar(&r.volumes, "restore-pvs", true, "restore volumes")
	flags.BoolVar(&r.nodePorts, "preserve-node-ports", true, "keep the node ports of Services")
	return cmd
}

func (r *restore) object() (*unstructured.Unstructured, error) {
	if (r.fromBackup == "") == (r.fromSchedule == "") {
		return nil, errors.New("give either --from-backup or --from-schedule")
	}
	spec := map[string]any{"includedNamespaces": r.namespaces(), "excludedResources": list(notRestored), "restorePVs": r.volumes, "preserveNodePorts": r.nodePorts}
	switch r.existing {
	case "":
	case "update", "none":
		spec["existingResourcePolicy"] = r.existing
	default:
		return nil, fmt.Errorf("--existing-resource-policy %q is unknown; use update or none%s", r.existing, printing.Suggest(r.existing, []string{"update", "none"}))
	}
	if r.fromBackup != "" {
		spec["backupName"] = r.fromBackup
	} else {
		spec["scheduleName"] = r.fromSchedule
	}
	return r.named("Restore", nil, spec), nil
}

// source sees that there is something to restore.
func (r *restore) source(ctx context.Context) error {
	kind, name := "Backup", r.fromBackup
	if name == "" {
		kind, name = "Schedule", r.fromSchedule
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(velero.WithKind(kind))
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s/%s is not there; see: kubectl -n %s get %ss.velero.io", kind, r.namespace, name, r.namespace, strings.ToLower(kind))
	}
	if err != nil {
		return fmt.Errorf("read %s %s/%s: %w", kind, r.namespace, name, err)
	}
	phase, _, _ := unstructured.NestedString(found.Object, "status", "phase")
	paused, _, _ := unstructured.NestedBool(found.Object, "spec", "paused")
	switch {
	case kind == "Backup" && phase != "Completed":
		return fmt.Errorf("Backup %s/%s is in phase %q; only one that is Completed can be restored", r.namespace, name, phase)
	case kind == "Schedule" && paused:
		return fmt.Errorf("Schedule %s/%s is paused; name one of its Backups with --from-backup", r.namespace, name)
	}
	return nil
}
