package dns

import (
	"cmp"
	"net"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"
)

// Options describe the zone that the hosted clusters' endpoints are published in.
type Options struct {
	Zone             string
	ResourceGroup    string // persistent group
	Location         string // of the group, where it must be made
	ParentZoneID     string // "" looks for it in the subscription
	SkipDelegation   bool   // the parent is not in Azure, or not ours
	ManagementURL    string // issuer of the management cluster's tokens: ExternalDNS by workload identity
	ServicePrincipal string // name of the application: ExternalDNS by service principal
	CredentialsPath  string // where its credentials, or the workload identity's settings, are written
	Resolver         string // HOST:PORT of the DNS server to ask; "" is the system's
	DelegationWait   time.Duration
	Tags             map[string]string
}

// maxIdentityName is how long the name of a managed identity may be:
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
const maxIdentityName = 128

// Validate names the field that is wrong.
func (o Options) Validate() error {
	switch {
	case !rules.IsDomain(o.Zone):
		return FieldZone.Wrong("%q is not a domain name such as clusters.example.com", o.Zone)
	case o.ResourceGroup == "":
		return FieldResourceGroup.Wrong("is required: the persistent resource group")
	case o.ParentZoneID != "" && o.SkipDelegation:
		return FieldParentZoneID.Wrong("and %s exclude each other", FieldSkipDelegation)
	case o.ManagementURL != "" && o.ServicePrincipal != "":
		return FieldManagementURL.Wrong("and %s exclude each other: ExternalDNS signs in in one way", FieldServicePrincipal)
	case o.ServicePrincipal != "" && o.CredentialsPath == "":
		return FieldCredentialsPath.Wrong("is required with %s: the file to write", FieldServicePrincipal)
	}
	if name := identityName(o.Zone); o.ManagementURL != "" && len(name) > maxIdentityName {
		return FieldZone.Wrong("is too long: ExternalDNS's identity would be named %s, and Azure allows %d characters", name, maxIdentityName)
	}
	if err := cmp.Or(rules.Group(FieldResourceGroup, o.ResourceGroup), rules.IssuerURL(FieldManagementURL, o.ManagementURL),
		checkResolver(o.Resolver), rules.Tags(FieldTags, o.Tags)); err != nil {
		return err
	}
	if o.ParentZoneID != "" {
		parent, err := azure.ParseID(o.ParentZoneID)
		if err != nil {
			return FieldParentZoneID.Wrap(err)
		}
		if !strings.HasSuffix(strings.ToLower(o.Zone), "."+strings.ToLower(parent.Name)) {
			return field.Errorf(FieldParentZoneID, "%s: %s is not above %s", FieldParentZoneID, parent.Name, o.Zone)
		}
	}
	return nil
}

func checkResolver(resolver string) error {
	if resolver == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(resolver); err != nil || host == "" || port == "" {
		return FieldResolver.Wrong("%q is not HOST:PORT", resolver)
	}
	return nil
}
