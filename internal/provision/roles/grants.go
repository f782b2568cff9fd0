package roles

import (
	"context"
	"slices"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

const (
	// The role of the machine provider where custom ones are asked for.
	roleNameCustomNodePool = "Azure Red Hat OpenShift NodePool Management Role"

	apiRoleDefinitions = "2022-04-01"
)

// dataPlaneGrants are what the identities of a managed cluster's own components need, on the main group only.
var dataPlaneGrants = []Grant{
	{ID: "ciroWI", Key: "dataPlane.imageRegistry", RoleGUID: "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5", Scopes: []ScopeName{Main}},
	{ID: "azure-diskWI", Key: "dataPlane.disk", RoleGUID: "5b7237c5-45e1-49d6-bc18-a1f62f400748", Scopes: []ScopeName{Main}},
	{ID: "azure-fileWI", Key: "dataPlane.file", RoleGUID: "0d7aedc0-15fd-4a67-a412-efad370c947e", Scopes: []ScopeName{Main}},
}

// givenGrants are those of both flavours: the holders decide which of them are given.
func givenGrants() []Grant { return slices.Concat(Grants, dataPlaneGrants) }

// formerGrants are given no more, and found where an earlier version or another tool gave them.
var formerGrants = []Grant{{ID: "cpo", Key: "controlPlaneOperator", Scopes: []ScopeName{Main, NSG, VNet}}}

// allGrants are those that a destroy looks for: it does not know which flavour it was, nor who gave them.
func allGrants() []Grant { return slices.Concat(givenGrants(), formerGrants) }

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

// Wanted are the grants of a cluster: of one without an image registry, and of one whose installer has roles of his own.
func Wanted(noImageRegistry, customRoles bool) []Grant {
	var out []Grant
	for _, r := range givenGrants() {
		if noImageRegistry && r.ID == "ciro" {
			continue
		}
		if customRoles && r.ID == "capz" {
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
	return "", &failure.Error{Op: "look up the role definition", Resource: r.roleName, Cause: "the subscription knows no role of this name",
		Remedy: "leave " + FieldCustomRoles.String() + " out to use Azure's own role, or have the role made", Kind: failure.Terminal}
}
