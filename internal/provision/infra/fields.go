package infra

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldName           field.Field = "infra.Name"
	FieldInfraID        field.Field = "infra.InfraID"
	FieldBaseDomain     field.Field = "infra.BaseDomain"
	FieldLocation       field.Field = "infra.Location"
	FieldResourceGroup  field.Field = "infra.ResourceGroup"
	FieldTags           field.Field = "infra.Tags"
	FieldVNetID         field.Field = "infra.VNetID"
	FieldSubnetID       field.Field = "infra.SubnetID"
	FieldNSGID          field.Field = "infra.NSGID"
	FieldPrivateZoneID  field.Field = "infra.PrivateZoneID"
	FieldPublicIPID     field.Field = "infra.PublicIPID"
	FieldLoadBalancerID field.Field = "infra.LoadBalancerID"
	FieldIdentities     field.Field = "infra.Identities"
	FieldManaged        field.Field = "infra.Managed"
	FieldAssignRoles    field.Field = "infra.AssignRoles"
	FieldDNSZoneGroup   field.Field = "infra.DNSZoneGroup"
	FieldAppsZone       field.Field = "infra.AppsZone"
	FieldAdopt          field.Field = "infra.Adopt"
	FieldConfirm        field.Field = "infra.Confirm"
	FieldPreserve       field.Field = "infra.Preserve"
	FieldOutputFile     field.Field = "infra.OutputFile"
)
