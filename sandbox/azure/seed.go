package azure

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/graph"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Roles of the user's service principal.
const (
	roleContributor     = "b24988ac-6180-42a0-ab88-20f7382dd24c"
	roleUserAccessAdmin = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
)

// founded is since when what is seeded exists: long enough to be known everywhere.
const founded = "2024-01-01T00:00:00Z"

// seed makes the user's service principal with its roles, and what the config wants to be there. All of it is safe to repeat.
func (s *Server) seed() error {
	sp := s.cfg.ServicePrincipal
	err := s.store.Update(func(tx *store.Tx) error {
		id := strings.ToLower(sp.ObjectID)
		if tx.Get(store.Principals, id) == nil {
			app := uuid.NewSHA1(uuid.NameSpaceDNS, []byte("application "+sp.ClientID)).String()
			tx.Put(store.Apps, app, graph.Application(app, sp.ClientID, store.Doc{"displayName": "sandbox", "createdDateTime": founded}))
			principal := graph.Principal(id, sp.ClientID, "sandbox", s.cfg.Tenant)
			principal["createdDateTime"] = founded
			tx.Put(store.Principals, id, principal)
		}
		// The secret follows the config, so that a new one replaces the old.
		const credential = "configured"
		hash := entra.HashSecret(sp.Secret)
		if c := tx.Get(store.Credentials, credential); c == nil || wire.Text(c, "sha256") != hash || wire.Text(c, "appId") != sp.ClientID {
			tx.Put(store.Credentials, credential, store.Doc{"appId": sp.ClientID, "sha256": hash})
		}
		for _, role := range []string{roleContributor, roleUserAccessAdmin} {
			s.assign(tx, role)
		}
		for _, role := range sp.GraphRoles {
			roleID := entra.AppRoles[role]
			if roleID == "" {
				return fmt.Errorf("ServicePrincipal.GraphRoles: Microsoft Graph has no app role %q here", role)
			}
			if key, d := entra.AppRoleGrant(s.cfg.Tenant, sp.ObjectID, roleID); tx.Get(store.AppRoles, key) == nil {
				tx.Put(store.AppRoles, key, d)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range s.cfg.Seed {
		if err := s.arm.Ensure(r.ID, r.Body, entra.Principal{ObjectID: sp.ObjectID, ClientID: sp.ClientID}); err != nil {
			return fmt.Errorf("seeding %s: %w", r.ID, err)
		}
	}
	return nil
}

func (s *Server) assign(tx *store.Tx, role string) {
	scope := "/subscriptions/" + s.cfg.Subscription
	object := s.cfg.ServicePrincipal.ObjectID
	name := uuid.NewSHA1(uuid.NameSpaceDNS, []byte(object+role+scope)).String()
	id := scope + "/providers/" + roles.AssignmentType + "/" + name
	if tx.Get(store.ARM, strings.ToLower(id)) != nil {
		return
	}
	tx.Put(store.ARM, strings.ToLower(id), store.Doc{"id": id, "name": name, "type": roles.AssignmentType, "properties": store.Doc{
		"principalId": object, "principalType": "ServicePrincipal", "scope": scope,
		"roleDefinitionId": scope + "/providers/Microsoft.Authorization/roleDefinitions/" + role}})
}
