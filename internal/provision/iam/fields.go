package iam

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldName               field.Field = "iam.Name"
	FieldInfraID            field.Field = "iam.InfraID"
	FieldResourceGroup      field.Field = "iam.ResourceGroup"
	FieldIssuerURL          field.Field = "iam.IssuerURL"
	FieldTags               field.Field = "iam.Tags"
	FieldRoles              field.Field = "iam.Roles"
	FieldRolesResourceGroup field.Field = "iam.RolesResourceGroup"
	FieldRolesVNetID        field.Field = "iam.RolesVNetID"
	FieldRolesNSGID         field.Field = "iam.RolesNSGID"
	FieldRolesDNSZoneGroup  field.Field = "iam.RolesDNSZoneGroup"
)
