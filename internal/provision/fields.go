package provision

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldTokenLifetime field.Field = "provision.TokenLifetime"
	FieldKeyWait       field.Field = "provision.KeyWait"
	FieldFinish        field.Field = "provision.Finish"
	FieldUpdated       field.Field = "provision.Updated"
)
