package entra

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// GraphAppID is the application of Microsoft Graph, the same in each tenant; the object id of its service principal differs.
const GraphAppID = "00000003-0000-0000-c000-000000000000"

// App roles of Microsoft Graph: what a program may do in the directory without a person.
const (
	ReadApplications  = "Application.Read.All"
	WriteOwn          = "Application.ReadWrite.OwnedBy"
	WriteApplications = "Application.ReadWrite.All"
	AssignAppRoles    = "AppRoleAssignment.ReadWrite.All"
	ReadDirectory     = "Directory.Read.All"
	WriteDirectory    = "Directory.ReadWrite.All"
)

// AppRoles are the ids of the app roles by their names: https://learn.microsoft.com/graph/permissions-reference.
var AppRoles = map[string]string{
	ReadApplications:  "9a5d68dd-52b0-4cc2-bd40-abcf44ac3a30",
	WriteOwn:          "18a4783c-866b-4cc7-a460-3d5e5662c884",
	WriteApplications: "1bfefb4e-e0b5-418b-a88f-73c46d2cc8e9",
	AssignAppRoles:    "06b708a9-e830-4db3-a914-8e69da51d44f",
	ReadDirectory:     "7ab1d382-f21e-4acd-a863-ba3e13f7da61",
	WriteDirectory:    "19dbc75e-c2e2-444c-a770-ec69d8559fc7",
}

// GraphPrincipalID is the object id of Microsoft Graph's service principal in a tenant.
func GraphPrincipalID(tenant string) string {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte("graph.microsoft.com "+tenant)).String()
}

// AppRoleGrant is the document that gives a principal an app role of Microsoft Graph, and its key.
func AppRoleGrant(tenant, principalID, roleID string) (key string, d store.Doc) {
	principalID = strings.ToLower(principalID)
	key = uuid.NewSHA1(uuid.NameSpaceDNS, []byte(principalID+" "+roleID)).String()
	return key, store.Doc{"id": key, "principalId": principalID, "principalType": "ServicePrincipal", "resourceId": GraphPrincipalID(tenant), "resourceDisplayName": "Microsoft Graph", "appRoleId": roleID}
}

// appRoles are the names of the app roles that a principal has.
func appRoles(tx *store.Tx, principalID string) []string {
	var out []string
	for name, id := range AppRoles {
		held := func(r *store.Record) bool {
			return strings.EqualFold(wire.Text(r.Doc, "principalId"), principalID) && wire.Text(r.Doc, "appRoleId") == id
		}
		if slices.ContainsFunc(tx.Scan(store.AppRoles, ""), held) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
