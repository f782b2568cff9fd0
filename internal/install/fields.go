package install

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldNamespace          field.Field = "install.Namespace"
	FieldImagePullPolicy    field.Field = "install.ImagePullPolicy"
	FieldMetricsSet         field.Field = "install.MetricsSet"
	FieldPlatforms          field.Field = "install.Platforms"
	FieldIngressDomain      field.Field = "install.IngressDomain"
	FieldPlatformMonitoring field.Field = "install.PlatformMonitoring"
	FieldPrivatePlatform    field.Field = "install.PrivatePlatform"
	FieldCertRotationScale  field.Field = "install.CertRotationScale"
	FieldNoCAPIMigration    field.Field = "install.NoCAPIMigration"
	FieldNoCAPIConversion   field.Field = "install.NoCAPIConversion"
	FieldPullSecret         field.Field = "install.PullSecret"
	FieldTrustBundle        field.Field = "install.TrustBundle"
	FieldEgressBlockCIDRs   field.Field = "install.EgressBlockCIDRs"
	FieldReleaseRegistries  field.Field = "install.ReleaseRegistries"
	FieldRegistryOverrides  field.Field = "install.RegistryOverrides"
	FieldExtraEnv           field.Field = "install.ExtraEnv"
	FieldDNSProvider        field.Field = "install.DNSProvider"
	FieldDNSCredentials     field.Field = "install.DNSCredentials"
	FieldDNSSecretName      field.Field = "install.DNSSecretName"
	FieldDNSDomainFilter    field.Field = "install.DNSDomainFilter"
	FieldDNSInterval        field.Field = "install.DNSInterval"
	FieldDNSAWSZonesCache   field.Field = "install.DNSAWSZonesCache"
	FieldDNSGoogleProject   field.Field = "install.DNSGoogleProject"
	FieldDNSClientID        field.Field = "install.DNSClientID"
	FieldDNSTenantID        field.Field = "install.DNSTenantID"
	FieldDNSManagementURL   field.Field = "install.DNSManagementURL"
	FieldAzureCredentials   field.Field = "install.AzureCredentials"
)
