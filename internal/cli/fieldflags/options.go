package fieldflags

import (
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/provision/roles"
)

// options are the flags by which the user gives the fields of the domains' options.
var options = map[field.Field]string{
	issuer.FieldName:           "--name",
	issuer.FieldShared:         "--shared",
	issuer.FieldResourceGroup:  "--resource-group-name",
	issuer.FieldStorageAccount: "--storage-account-name",
	issuer.FieldKeyDirectory:   "--output-dir",
	issuer.FieldPrivateKey:     "--private-key",
	issuer.FieldPublicKey:      "--public-key",
	issuer.FieldTags:           "--tags",
	issuer.FieldURL:            "--issuer-url",
	issuer.FieldTrustedURL:     "--oidc-issuer-url",
	issuer.FieldSigner:         "--sa-token-issuer-private-key-path",

	iam.FieldName:               "--name",
	iam.FieldInfraID:            "--infra-id",
	iam.FieldResourceGroup:      "--resource-group-name",
	iam.FieldIssuerURL:          "--oidc-issuer-url",
	iam.FieldTags:               "--tags",
	iam.FieldRoles:              "--assign-identity-roles",
	iam.FieldRolesResourceGroup: "--cluster-resource-group-name",
	iam.FieldRolesVNetID:        "--vnet-id",
	iam.FieldRolesNSGID:         "--network-security-group-id",
	iam.FieldRolesDNSZoneGroup:  "--dns-zone-rg-name",

	infra.FieldName:           "--name",
	infra.FieldInfraID:        "--infra-id",
	infra.FieldBaseDomain:     "--base-domain",
	infra.FieldLocation:       "--location",
	infra.FieldResourceGroup:  "--resource-group-name",
	infra.FieldTags:           "--resource-group-tags",
	infra.FieldVNetID:         "--vnet-id",
	infra.FieldSubnetID:       "--subnet-id",
	infra.FieldNSGID:          "--network-security-group-id",
	infra.FieldPrivateZoneID:  "--private-dns-zone-id",
	infra.FieldPublicIPID:     "--public-ip-id",
	infra.FieldLoadBalancerID: "--load-balancer-id",
	infra.FieldIdentities:     "--workload-identities-file",
	infra.FieldManaged:        "--managed-identities-file",
	infra.FieldAssignRoles:    "--assign-identity-roles",
	infra.FieldDNSZoneGroup:   "--dns-zone-rg-name",
	infra.FieldAppsZone:       "--apps-zone",
	infra.FieldAdopt:          "--adopt",
	infra.FieldConfirm:        "--yes",
	infra.FieldPreserve:       "--preserve-resource-group",
	infra.FieldOutputFile:     "--infra-json",

	dns.FieldZone:             "--dns-zone-name",
	dns.FieldResourceGroup:    "--resource-group-name",
	dns.FieldParentZoneID:     "--parent-zone-id",
	dns.FieldSkipDelegation:   "--skip-delegation",
	dns.FieldManagementURL:    "--management-issuer-url",
	dns.FieldServicePrincipal: "--service-principal-name",
	dns.FieldCredentialsPath:  "--external-dns-credentials",
	dns.FieldResolver:         "--dns-resolver",
	dns.FieldDelegationWait:   "--delegation-wait",
	dns.FieldTags:             "--tags",
	dns.FieldForce:            "--force",

	identity.FieldWorkloadFile:  "--workload-identities-file",
	identity.FieldManagedFile:   "--managed-identities-file",
	identity.FieldDataPlaneFile: "--data-plane-identities-file",

	roles.FieldCustomRoles: "--assign-custom-hcp-roles",

	node.FieldLocation: "--location",
	node.FieldRoles:    "--assign-identity-roles",

	provision.FieldTokenLifetime: "--token-lifetime",
	provision.FieldKeyWait:       "--key-wait",
	provision.FieldFinish:        "--finish",
	provision.FieldUpdated:       "--secret-updated",

	install.FieldNamespace:             "--namespace",
	install.FieldImagePullPolicy:       "--image-pull-policy",
	install.FieldMetricsSet:            "--metrics-set",
	install.FieldPlatforms:             "--limit-crd-install",
	install.FieldIngressDomain:         "--ingress-domain",
	install.FieldPlatformMonitoring:    "--platform-monitoring",
	install.FieldPrivatePlatform:       "--private-platform",
	install.FieldCertRotationScale:     "--cert-rotation-scale",
	install.FieldNoCAPIMigration:       "--disable-capi-migration",
	install.FieldNoCAPIConversion:      "--disable-capi-conversion-webhook",
	install.FieldPullSecret:            "--pull-secret",
	install.FieldTrustBundle:           "--additional-trust-bundle",
	install.FieldEgressBlockCIDRs:      "--hcp-egress-block-cidrs",
	install.FieldMaxConcurrentUpgrades: "--max-concurrent-upgrades",
	install.FieldReleaseRegistries:     "--release-registries",
	install.FieldReleaseSignatureKeys:  "--release-signature-keys",
	install.FieldRegistryOverrides:     "--registry-overrides",
	install.FieldExtraEnv:              "--additional-operator-env-vars",
	install.FieldDNSProvider:           "--external-dns-provider",
	install.FieldDNSCredentials:        "--external-dns-credentials",
	install.FieldDNSSecretName:         "--external-dns-secret",
	install.FieldDNSDomainFilter:       "--external-dns-domain-filter",
	install.FieldDNSInterval:           "--external-dns-interval",
	install.FieldDNSAWSZonesCache:      "--external-dns-aws-zones-cache-duration",
	install.FieldDNSGoogleProject:      "--external-dns-google-project",
	install.FieldDNSClientID:           "--external-dns-azure-client-id",
	install.FieldDNSTenantID:           "--external-dns-azure-tenant-id",
	install.FieldDNSManagementURL:      "--management-issuer-url",
	install.FieldAzureCredentials:      "--azure-creds",
}

func init() { field.Teach(options) }
