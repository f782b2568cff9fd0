package entra

import (
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Resource types of managed identities.
const (
	IdentityType   = "Microsoft.ManagedIdentity/userAssignedIdentities"
	CredentialType = IdentityType + "/federatedIdentityCredentials"
)

// federation is a federated credential.
type federation struct {
	issuer, subject string
	audiences       []string
	created         time.Time
}

// client is what a client id stands for: an application or a managed identity.
type client struct {
	id          string // client id
	principalID string // object id of its service principal
	application store.Doc
	federations []federation
	created     time.Time
}

func findClient(tx *store.Tx, clientID string) (client, bool) {
	for _, r := range tx.Scan(store.Apps, "") {
		if !strings.EqualFold(wire.Text(r.Doc, "appId"), clientID) {
			continue
		}
		c := client{id: wire.Text(r.Doc, "appId"), application: r.Doc, created: wire.Time(r.Doc, "createdDateTime")}
		for _, sp := range tx.Scan(store.Principals, "") {
			if strings.EqualFold(wire.Text(sp.Doc, "appId"), clientID) {
				c.principalID = sp.Key
			}
		}
		for _, f := range wire.Docs(r.Doc, "federatedIdentityCredentials") {
			fed := federationOf(f)
			fed.created = wire.Time(f, "createdDateTime")
			c.federations = append(c.federations, fed)
		}
		return c, true
	}
	return findManagedIdentity(tx, clientID)
}

func findManagedIdentity(tx *store.Tx, clientID string) (client, bool) {
	for _, r := range tx.Scan(store.ARM, "") {
		p := wire.Props(r.Doc)
		if r.Doc["type"] != IdentityType || !strings.EqualFold(wire.Text(p, "clientId"), clientID) {
			continue
		}
		c := client{id: wire.Text(p, "clientId"), principalID: wire.Text(p, "principalId"), created: wire.Created(r.Doc)}
		for _, f := range tx.Scan(store.ARM, r.Key+"/") {
			if f.Doc["type"] == CredentialType {
				fed := federationOf(wire.Props(f.Doc))
				fed.created = wire.Created(f.Doc)
				c.federations = append(c.federations, fed)
			}
		}
		return c, true
	}
	return client{}, false
}

func federationOf(d store.Doc) federation {
	return federation{issuer: wire.Text(d, "issuer"), subject: wire.Text(d, "subject"), audiences: wire.Texts(d, "audiences")}
}
