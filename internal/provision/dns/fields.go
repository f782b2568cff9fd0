package dns

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldZone             field.Field = "dns.Zone"
	FieldResourceGroup    field.Field = "dns.ResourceGroup"
	FieldParentZoneID     field.Field = "dns.ParentZoneID"
	FieldSkipDelegation   field.Field = "dns.SkipDelegation"
	FieldManagementURL    field.Field = "dns.ManagementURL"
	FieldServicePrincipal field.Field = "dns.ServicePrincipal"
	FieldCredentialsPath  field.Field = "dns.CredentialsPath"
	FieldResolver         field.Field = "dns.Resolver"
	FieldDelegationWait   field.Field = "dns.DelegationWait"
	FieldTags             field.Field = "dns.Tags"
	FieldForce            field.Field = "dns.Force"
)
