package oadp

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// typed runs a command line that reaches no cluster.
func typed(t *testing.T, cmd *cobra.Command, line string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{"--hc-name", "demo", "--hc-namespace", "clusters", "--render"}, strings.Split(line, " ")...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// TestRendered has what each flag makes of the objects, which need no cluster to be printed.
func TestRendered(t *testing.T) {
	backup := []string{"kind: Backup", "apiVersion: velero.io/v1", "velero.io/storage-location: default", "snapshotMoveData: true", "ttl: 2h0m0s", "namespace: openshift-adp", "- clusters\n", "- clusters-demo\n",
		"csiSnapshotTimeout: 10m0s", "dataMover: velero", "defaultVolumesToFsBackup: false", "- azuremachines.infrastructure.cluster.x-k8s.io", "name: one\n"}
	for line, test := range map[string]struct {
		cmd  *cobra.Command
		says []string
	}{
		"--name one": {NewBackupCommand(), backup},
		"--name one --snapshot-move-data=false --default-volumes-to-fs-backup --storage-location east --ttl 30m --included-resources pods,secrets --include-additional-namespaces more --oadp-namespace velero": {NewBackupCommand(),
			[]string{"snapshotMoveData: false", "defaultVolumesToFsBackup: true", "storageLocation: east", "ttl: 30m0s", "includedResources:\n  - pods\n  - secrets\n", "- more\n", "namespace: velero"}},
		"--schedule @daily --paused --use-owner-references --skip-immediately": {NewScheduleCommand(),
			[]string{"kind: Schedule", "schedule: 0 0 * * *", "paused: true", "useOwnerReferencesInBackup: true", "skipImmediately: true", "snapshotMoveData: false", "hypershift.openshift.io/hosted-cluster: demo", "name: demo-clusters-"}},
		"--schedule weekly-friday": {NewScheduleCommand(), []string{"schedule: 0 0 * * 5", "paused: false"}},
		"--from-backup b":          {NewRestoreCommand(), []string{"kind: Restore", "backupName: b", "restorePVs: true", "preserveNodePorts: true", "- resticrepositories.velero.io", "- clusters-demo"}},
		"--from-schedule s --existing-resource-policy update --restore-pvs=false --preserve-node-ports=false": {NewRestoreCommand(),
			[]string{"scheduleName: s", "existingResourcePolicy: update", "restorePVs: false", "preserveNodePorts: false"}},
	} {
		text, err := typed(t, test.cmd, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for _, words := range test.says {
			if !strings.Contains(text, words) {
				t.Errorf("%s: there is no %q in\n%s", line, words, text)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for line, test := range map[string]struct {
		cmd  *cobra.Command
		says string
	}{
		"--use-etcd-snapshot":                            {NewBackupCommand(), "hypershift backup create"},
		"--ttl 0s":                                       {NewBackupCommand(), "--ttl"},
		"--name A_b":                                     {NewBackupCommand(), "--name"},
		"--schedule sometimes":                           {NewScheduleCommand(), "--schedule"},
		"--schedule=":                                    {NewScheduleCommand(), "--schedule"},
		"--schedule 0;25;*;*;*":                          {NewScheduleCommand(), "is no schedule"},
		"--schedule 0;*;*;*;*":                           {NewScheduleCommand(), "--schedule"},
		"--existing-resource-policy=":                    {NewRestoreCommand(), "either --from-backup or --from-schedule"},
		"--from-backup b --from-schedule s":              {NewRestoreCommand(), "either --from-backup or --from-schedule"},
		"--from-backup b --existing-resource-policy all": {NewRestoreCommand(), "--existing-resource-policy"},
	} {
		if text, err := typed(t, test.cmd, line); err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(text, "kind:") {
			t.Errorf("%s: %v\n%s", line, err, text)
		}
	}
	if cron, err := cronOf("0  2 * * MON"); err != nil || cron != "0 2 * * MON" {
		t.Errorf("%q, %v", cron, err)
	}
}

func deployment(name string, ready int32) client.Object {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: name}, Status: appsv1.DeploymentStatus{ReadyReplicas: ready}}
}

func velerosOwn(kind, name, field, value string) client.Object {
	obj := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{}, "spec": map[string]any{}}}
	obj.SetGroupVersionKind(velero.WithKind(kind))
	obj.SetNamespace(defaultNamespace)
	obj.SetName(name)
	if field == "phase" {
		_ = unstructured.SetNestedField(obj.Object, value, "status", field)
	} else {
		_ = unstructured.SetNestedField(obj.Object, value == "true", "spec", field)
	}
	return obj
}

func application(status string, plugins ...any) client.Object {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"configuration": map[string]any{"velero": map[string]any{"defaultPlugins": plugins}}},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Reconciled", "status": status}}}}}
	obj.SetGroupVersionKind(dpaKind)
	obj.SetNamespace(defaultNamespace)
	obj.SetName("dpa")
	return obj
}

// TestApplied: the object is created where everything is there that acts on it, and not otherwise.
func TestApplied(t *testing.T) {
	adp, velero := deployment("openshift-adp-controller-manager", 1), deployment("velero", 1)
	for name, test := range map[string]struct {
		objects []client.Object
		plain   bool // no OADP
		change  func(*restore)
		refuses string
		warns   string
	}{
		"OADP":                        {objects: []client.Object{adp, velero, application("True", "azure", "hypershift")}},
		"Velero alone":                {objects: []client.Object{velero}, plain: true},
		"without its plugin":          {objects: []client.Object{adp, velero, application("True", "azure")}, warns: "defaultPlugins"},
		"OADP is not there":           {objects: []client.Object{velero, application("True")}, refuses: "openshift-adp-controller-manager is missing"},
		"Velero does not run":         {objects: []client.Object{deployment("velero", 0)}, plain: true, refuses: "no ready pod"},
		"OADP is not ready":           {objects: []client.Object{adp, velero, application("False")}, refuses: "Reconciled True"},
		"no such cluster":             {objects: []client.Object{velero}, plain: true, change: func(r *restore) { r.cluster = "dmeo" }, refuses: "dmeo"},
		"the backup is not there":     {objects: []client.Object{velero}, plain: true, change: func(r *restore) { r.fromBackup = "none" }, refuses: "Backup openshift-adp/none is not there"},
		"the backup failed":           {objects: []client.Object{velero}, plain: true, change: func(r *restore) { r.fromBackup = "bad" }, refuses: `phase "Failed"`},
		"the schedule is paused":      {objects: []client.Object{velero}, plain: true, change: func(r *restore) { r.fromBackup, r.fromSchedule = "", "idle" }, refuses: "is paused"},
		"the schedule makes some":     {objects: []client.Object{velero}, plain: true, change: func(r *restore) { r.fromBackup, r.fromSchedule = "", "nightly" }},
		"it is there already":         {objects: []client.Object{velero, velerosOwn("Restore", "n", "phase", "")}, plain: true, refuses: "choose another --name"},
		"of another platform's kinds": {objects: []client.Object{velero}, plain: true, change: func(r *restore) { r.cluster = "none" }, refuses: "platform None"},
	} {
		all := append([]client.Object{surveytest.Cluster("demo"), surveytest.Cluster("none", func(hc *hyperv1.HostedCluster) { hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} }),
			velerosOwn("Backup", "good", "phase", "Completed"), velerosOwn("Backup", "bad", "phase", "Failed"),
			velerosOwn("Schedule", "idle", "paused", "true"), velerosOwn("Schedule", "nightly", "paused", "false")}, test.objects...)
		c := surveytest.Client(all...).WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, other := list.(*unstructured.UnstructuredList); other && test.plain {
				return &meta.NoKindMatchError{GroupKind: dpaKind.GroupKind()}
			}
			return c.List(ctx, list, opts...)
		}}).Build()
		var said []string
		r := &restore{request: request{cluster: "demo", clusterNamespace: "clusters", name: "n", namespace: defaultNamespace, client: c,
			say: func(format string, _ ...any) { said = append(said, format) }}, fromBackup: "good"}
		if test.change != nil {
			test.change(r)
		}
		obj, err := r.typed(r.object)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = r.apply(t.Context(), obj, r.source, &out)
		if (err != nil) != (test.refuses != "") || err != nil && !strings.Contains(err.Error(), test.refuses) {
			t.Errorf("%s: %v", name, err)
		}
		if warned := strings.Join(said, ""); !strings.Contains(warned, test.warns) || test.warns == "" && warned != "" {
			t.Errorf("%s: said %q", name, warned)
		}
		if err == nil && out.String() != "Restore openshift-adp/n created\n" {
			t.Errorf("%s: printed %q", name, out.String())
		}
	}
}
