package roles

import (
	"context"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

const (
	// The roles that stand for Contributor where they are asked for.
	roleCustomOperator     = "7d8bb4e4-6fa7-4545-96cf-20fce11b705d"
	roleNameCustomNodePool = "Azure Red Hat OpenShift NodePool Management Role"

	apiRoleDefinitions = "2022-04-01"
)

// dataPlaneGrants are what the identities of a managed cluster's own components need, on the main group only.
var dataPlaneGrants = []Grant{
	{ID: "ciroWI", Key: "dataPlane.imageRegistry", RoleGUID: "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5", Scopes: []ScopeName{Main}},
	{ID: "azure-diskWI", Key: "dataPlane.disk", RoleGUID: "5b7237c5-45e1-49d6-bc18-a1f62f400748", Scopes: []ScopeName{Main}},
	{ID: "azure-fileWI", Key: "dataPlane.file", RoleGUID: "0d7aedc0-15fd-4a67-a412-efad370c947e", Scopes: []ScopeName{Main}},
}

// allGrants are those of every flavour: a destroy does not know which one it was.
func allGrants() []Grant { return append(append([]Grant{}, Grants...), dataPlaneGrants...) }

// OfManaged are the principals of a managed cluster, by the keys of its grants.
func OfManaged(s *azure.Session, m *hyperv1.AzureResourceManagedIdentities) map[string]Holder {
	clients := map[string]string{"dataPlane.imageRegistry": m.DataPlane.ImageRegistryMSIClientID, "dataPlane.disk": m.DataPlane.DiskMSIClientID, "dataPlane.file": m.DataPlane.FileMSIClientID}
	for _, c := range identity.ControlPlane(&m.ControlPlane) {
		clients[c.Key] = string(c.Identity.ClientID)
	}
	directory, out := s.NewDirectory(), map[string]Holder{}
	for key, client := range clients {
		out[key] = Holder{Principal: func(ctx context.Context) (string, error) { return directory.PrincipalOf(ctx, client) }}
	}
	return out
}

// Wanted are the grants of a cluster: of one without an image registry, and of one whose installer may not use Contributor.
func Wanted(noImageRegistry, customRoles bool) []Grant {
	var out []Grant
	for _, r := range allGrants() {
		switch {
		case noImageRegistry && r.ID == "ciro":
			continue
		case customRoles && r.ID == "cpo":
			r.RoleGUID = roleCustomOperator
		case customRoles && r.ID == "capz":
			r.RoleGUID, r.roleName = "", roleNameCustomNodePool
		}
		out = append(out, r)
	}
	return out
}

// role is the GUID of the role to give. One that has no id of its own in every tenant is looked up by its name.
func (r Grant) role(ctx context.Context, s *azure.Session) (string, error) {
	if r.roleName == "" {
		return r.RoleGUID, nil
	}
	found, err := s.List(ctx, "/subscriptions/"+s.SubscriptionID+"/providers/Microsoft.Authorization/roleDefinitions", apiRoleDefinitions, "roleName eq '"+r.roleName+"'")
	if err != nil {
		return "", err
	}
	for i := range found {
		if found[i].Property("roleName") == r.roleName {
			return found[i].Name, nil
		}
	}
	return "", &azure.Error{Op: "look up the role definition", Resource: r.roleName, Cause: "the subscription knows no role of this name",
		Remedy: "leave " + FieldCustomRoles.String() + " out to use Contributor, or have the role made", Kind: azure.Terminal}
}
