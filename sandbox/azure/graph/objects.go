package graph

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func (c *call) create(t store.Table) (*result, error) {
	if t == store.Apps {
		if wire.Text(c.body, "displayName") == "" {
			return nil, invalid("A value is required for property 'displayName' of resource 'Application'.")
		}
		d := Application(uuid.NewString(), uuid.NewString(), c.body)
		d[owners] = []any{c.caller.ObjectID}
		c.tx.Put(store.Apps, wire.Text(d, "id"), d)
		return &result{http.StatusCreated, shown(d)}, nil
	}
	appID := wire.Text(c.body, "appId")
	name := wire.Text(c.application(appID), "displayName")
	if name == "" {
		return nil, invalid("The appId '%s' of the service principal does not reference a valid application object.", appID)
	}
	for _, sp := range c.all(store.Principals) {
		if strings.EqualFold(wire.Text(sp, "appId"), appID) {
			return nil, &graphError{http.StatusConflict, "Request_MultipleObjectsWithSameKeyValue", "The service principal cannot be created, updated, or restored because the service principal name " + appID + " is already in use."}
		}
	}
	d := Principal(uuid.NewString(), appID, name, c.tenant)
	d[owners] = []any{c.caller.ObjectID}
	c.tx.Put(store.Principals, wire.Text(d, "id"), d)
	return &result{http.StatusCreated, shown(d)}, nil
}

// Application completes the document of an application.
func Application(objectID, appID string, d Doc) Doc {
	d["id"], d["appId"] = strings.ToLower(objectID), appID
	for _, list := range []string{"keyCredentials", "passwordCredentials", "identifierUris", "federatedIdentityCredentials", "requiredResourceAccess", "appRoles", "tags"} {
		wire.Default(d, list, []any{})
	}
	wire.Default(d, "displayName", appID)
	wire.Default(d, "web", Doc{"redirectUris": []any{}, "homePageUrl": nil})
	wire.Default(d, "signInAudience", "AzureADMyOrg")
	wire.Default(d, "createdDateTime", time.Now().UTC().Format(time.RFC3339Nano))
	return d
}

// Principal is the document of an application's service principal.
func Principal(objectID, appID, name, tenant string) Doc {
	return Doc{"id": strings.ToLower(objectID), "appId": appID, "displayName": name, "appDisplayName": name, "servicePrincipalType": "Application", "accountEnabled": true,
		"servicePrincipalNames": []any{appID}, "keyCredentials": []any{}, "passwordCredentials": []any{}, "appOwnerOrganizationId": tenant, "createdDateTime": time.Now().UTC().Format(time.RFC3339Nano), "alternativeNames": []any{}, "tags": []any{}}
}

// member serves what hangs below an object.
func (c *call) member(t store.Table, id, what string) (*result, error) {
	switch what {
	case "addPassword":
		return c.addPassword(t, id)
	case "removePassword":
		return c.removePassword(t, id)
	case "owners":
		return c.owners(t, id)
	case "federatedIdentityCredentials":
		return c.federations(t, id)
	case "appRoleAssignments":
		return c.appRoleAssignments(id)
	case "oauth2PermissionGrants", "memberOf":
		return &result{http.StatusOK, Doc{"value": []any{}}}, nil
	}
	return nil, missing(strings.Join(c.segs, "/"))
}

func (c *call) addPassword(t store.Table, id string) (*result, error) {
	d := c.tx.Edit(t, id)
	if d == nil {
		return nil, invalid("A managed identity has no password.")
	}
	b := make([]byte, 30)
	_, _ = rand.Read(b) // never fails
	secret := base64.RawURLEncoding.EncodeToString(b)
	now := time.Now().UTC()
	shown := Doc{"startDateTime": now.Format(time.RFC3339), "endDateTime": now.AddDate(1, 0, 0).Format(time.RFC3339), "displayName": nil}
	wire.Merge(shown, wire.Sub(c.body, "passwordCredential"))
	keyID := uuid.NewString()
	shown["keyId"], shown["hint"] = keyID, secret[:3]
	d["passwordCredentials"] = append(wire.List(d, "passwordCredentials"), store.Clone(shown))
	c.tx.Put(store.Credentials, keyID, Doc{"appId": d["appId"], "sha256": entra.HashSecret(secret), "endDateTime": shown["endDateTime"]})
	shown["secretText"] = secret
	return &result{http.StatusOK, shown}, nil
}

func (c *call) removePassword(t store.Table, id string) (*result, error) {
	d := c.tx.Edit(t, id)
	if d == nil {
		return nil, invalid("A managed identity has no password.")
	}
	keyID := wire.Text(c.body, "keyId")
	left := []any{}
	for _, p := range wire.Docs(d, "passwordCredentials") {
		if wire.Text(p, "keyId") != keyID {
			left = append(left, p)
		}
	}
	if len(left) == len(wire.Docs(d, "passwordCredentials")) {
		return nil, invalid("No password credential found with keyId.")
	}
	d["passwordCredentials"] = left
	c.tx.Delete(store.Credentials, keyID)
	return &result{http.StatusNoContent, nil}, nil
}

func (c *call) federations(t store.Table, id string) (*result, error) {
	if c.req.Method != http.MethodGet && t != store.Apps {
		return nil, invalid("Federated credentials are an application's, or a managed identity's in the resource manager.")
	}
	switch {
	case c.req.Method == http.MethodPost:
		d := c.tx.Edit(t, id)
		if err := c.federationFits(d); err != nil {
			return nil, err
		}
		c.body["id"], c.body["createdDateTime"] = uuid.NewString(), time.Now().UTC().Format(time.RFC3339Nano)
		d["federatedIdentityCredentials"] = append(wire.List(d, "federatedIdentityCredentials"), c.body)
		return &result{http.StatusCreated, c.body}, nil
	case c.req.Method == http.MethodDelete && len(c.segs) == 4:
		d := c.tx.Edit(t, id)
		left := []any{}
		for _, f := range wire.Docs(d, "federatedIdentityCredentials") {
			if f["id"] != c.segs[3] && f["name"] != c.segs[3] {
				left = append(left, f)
			}
		}
		d["federatedIdentityCredentials"] = left
		return &result{http.StatusNoContent, nil}, nil
	}
	list := wire.List(c.find(t, id), "federatedIdentityCredentials")
	if list == nil {
		list = []any{}
	}
	return &result{http.StatusOK, Doc{"value": list}}, nil
}

// federationFits checks a federated credential that an application is to have: https://learn.microsoft.com/graph/api/resources/federatedidentitycredential.
func (c *call) federationFits(application Doc) error {
	for _, member := range []string{"name", "issuer", "subject"} {
		if wire.Text(c.body, member) == "" {
			return invalid("A value is required for property '%s' of resource 'FederatedIdentityCredential'.", member)
		}
	}
	if len(wire.Texts(c.body, "audiences")) != 1 {
		return invalid("A federated identity credential has exactly one value in 'audiences'.")
	}
	for _, f := range wire.Docs(application, "federatedIdentityCredentials") {
		if f["name"] == c.body["name"] || f["issuer"] == c.body["issuer"] && f["subject"] == c.body["subject"] {
			return &graphError{http.StatusConflict, "Request_MultipleObjectsWithSameKeyValue",
				"FederatedIdentityCredential with name " + wire.Text(c.body, "name") + ", or with its issuer and subject, already exists."}
		}
	}
	return nil
}
