package encryption

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MigrationConfigMap is where the hosted-cluster-config-operator keeps how far it is with writing everything again.
const MigrationConfigMap = "secret-encryption-migration"

// Report is how far the writing again is.
type Report struct {
	// ID of the migration; one of another ID is of a former rotation.
	ID string
	// Done: everything of every resource was written again.
	Done bool
	// Resource and Continue are where to go on; Count is how many objects were written.
	Resource, Continue string
	Count              int
	// Problem is why it does not go on, "" while it does.
	Problem string
}

// Data is the report as a ConfigMap keeps it.
func (r Report) Data() map[string]string {
	return map[string]string{"id": r.ID, "done": fmt.Sprint(r.Done), "resource": r.Resource, "continue": r.Continue,
		"count": fmt.Sprint(r.Count), "problem": r.Problem}
}

// ReadMigration returns an empty report when there is none.
func ReadMigration(ctx context.Context, c client.Reader, namespace string) (Report, error) {
	found := &corev1.ConfigMap{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: MigrationConfigMap}, found)
	if apierrors.IsNotFound(err) {
		return Report{}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("read how far the re-encryption is: %w", err)
	}
	d := found.Data
	report := Report{ID: d["id"], Done: d["done"] == "true", Resource: d["resource"], Continue: d["continue"], Problem: d["problem"]}
	_, _ = fmt.Sscan(d["count"], &report.Count) // a figure for people
	return report, nil
}
