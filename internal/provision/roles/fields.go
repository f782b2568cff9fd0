package roles

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldCustomRoles field.Field = "roles.CustomRoles"
)
