package identity

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldWorkloadFile  field.Field = "identity.WorkloadFile"
	FieldManagedFile   field.Field = "identity.ManagedFile"
	FieldDataPlaneFile field.Field = "identity.DataPlaneFile"
)
