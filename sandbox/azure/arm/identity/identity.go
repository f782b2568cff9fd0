// Package identity is Microsoft.ManagedIdentity of the embedded Azure: identities and their federated credentials.
package identity

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	maxFederations  = 20                    // of one identity
	federationWrite = 10 * time.Millisecond // how long a write of a credential takes
)

var (
	identityName   = nameRule("127", "128")
	credentialName = nameRule("119", "120")
)

func nameRule(more, longest string) *provider.NameRule {
	return &provider.NameRule{Pattern: provider.Pattern(`^[A-Za-z0-9][\w-]{2,` + more + `}$`), Code: "InvalidResourceName",
		Demand: "The name has 3 to " + longest + " letters, digits, hyphens and underscores and begins with a letter or a digit."}
}

// Spec is what the gateway serves of managed identities.
var Spec = provider.Spec{Namespace: "Microsoft.ManagedIdentity", Kinds: []*provider.Kind{
	{Type: entra.IdentityType, NoState: true, Name: identityName, Keep: []string{"clientId", "principalId", "tenantId"}, Put: putIdentity},
	{Type: entra.CredentialType, NoState: true, Name: credentialName, OneWrite: oneFederationAtATime, Put: putFederation},
}}

var oneFederationAtATime = &provider.OneWrite{Takes: federationWrite, Refuse: func(identity string) *provider.Error {
	return provider.Conflict("ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity", "Too many concurrent writes of Federated Identity Credentials under the managed identity '%s'. Concurrent writes are not supported: please send them one after the other.", provider.LastSegment(identity))
}}

func putIdentity(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	wire.Stamp(r.Body, old)
	p := wire.EnsureProps(r.Body)
	wire.Default(p, "clientId", uuid.NewString())
	wire.Default(p, "principalId", uuid.NewString())
	wire.Default(p, "tenantId", c.Tenant)
	return nil
}

func putFederation(c *provider.Call, r *provider.Resource, old wire.Doc) error {
	wire.Stamp(r.Body, old)
	p := wire.EnsureProps(r.Body)
	for _, f := range []string{"issuer", "subject"} {
		if wire.Text(p, f) == "" {
			return provider.BadRequest("BadRequest", "The federated identity credential needs a value for '%s'.", f)
		}
	}
	if len(wire.Texts(p, "audiences")) != 1 {
		return provider.BadRequest("BadRequest", "The federated identity credential needs exactly one audience.")
	}
	identity := r.ID[:strings.LastIndex(strings.ToLower(r.ID), "/federatedidentitycredentials/")]
	others := c.Within(identity, entra.CredentialType)
	if old == nil && len(others) > maxFederations {
		return provider.BadRequest("BadRequest", "Too many Federated Identity Credentials are configured on the identity: the limit is %d.", maxFederations)
	}
	for _, o := range others {
		q := wire.Props(o.Body)
		if o.ID != r.ID && q["issuer"] == p["issuer"] && q["subject"] == p["subject"] {
			return provider.Conflict("Conflict", "Issuer and subject combination already exists for this Managed Identity (credential '%s').", o.Name)
		}
	}
	return nil
}
