package node

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldLocation field.Field = "node.Location"
	FieldRoles    field.Field = "node.Roles"
)
