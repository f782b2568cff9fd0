package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

const (
	// objectEncoding of the credentials in the key vault, whatever the file says: the components read no other.
	objectEncoding = "utf-8"

	// The roles that stand for Contributor where they are asked for.
	roleCustomOperator     = "7d8bb4e4-6fa7-4545-96cf-20fce11b705d"
	roleNameCustomNodePool = "Azure Red Hat OpenShift NodePool Management Role"
	apiRoleDefinitions     = "2022-04-01"
)

// dataPlaneGrants are what the identities of a managed cluster's own components need, on the main group only.
var dataPlaneGrants = []grant{
	{id: "ciroWI", key: "dataPlane.imageRegistry", roleGUID: "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5", scopes: []scopeName{scopeMain}},
	{id: "azure-diskWI", key: "dataPlane.disk", roleGUID: "5b7237c5-45e1-49d6-bc18-a1f62f400748", scopes: []scopeName{scopeMain}},
	{id: "azure-fileWI", key: "dataPlane.file", roleGUID: "0d7aedc0-15fd-4a67-a412-efad370c947e", scopes: []scopeName{scopeMain}},
}

// allGrants are those of every flavour: a destroy does not know which one it was.
func allGrants() []grant { return append(append([]grant{}, grants...), dataPlaneGrants...) }

var vaultSecretPattern = regexp.MustCompile(`^[a-zA-Z0-9-]{1,127}$`)

// ReadManagedIdentities reads the file of the control plane's identities, bare or as the member controlPlane of a larger one.
func ReadManagedIdentities(path string) (*hyperv1.ControlPlaneManagedIdentities, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read --managed-identities-file: %w", err)
	}
	out, err := ParseManagedIdentities(raw)
	if err != nil {
		return nil, fmt.Errorf("--managed-identities-file %s: %w", path, err)
	}
	return out, nil
}

// ParseManagedIdentities reads JSON or YAML; the error names the member.
func ParseManagedIdentities(raw []byte) (*hyperv1.ControlPlaneManagedIdentities, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("not an object of identities: %w", err)
	}
	if inner, wrapped := doc["controlPlane"].(map[string]any); wrapped {
		doc = inner
	}
	inner, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("not an object of identities: %w", err)
	}
	var out hyperv1.ControlPlaneManagedIdentities
	if err := json.Unmarshal(inner, &out); err != nil {
		return nil, fmt.Errorf("not an object of identities: %w", err)
	}
	if vault := out.ManagedIdentitiesKeyVault; vault.Name == "" || vault.TenantID == "" {
		return nil, fmt.Errorf("managedIdentitiesKeyVault needs name and tenantID")
	}
	for _, c := range controlPlane(&out) {
		if !vaultSecretPattern.MatchString(c.identity.CredentialsSecretName) {
			return nil, fmt.Errorf("%s.credentialsSecretName must name a secret of the key vault, it is %q", c.key, c.identity.CredentialsSecretName)
		}
		if id := string(c.identity.ClientID); id != "" && !azure.IsUUID(id) {
			return nil, fmt.Errorf("%s.clientID must be a valid UUID, it is %q", c.key, id)
		}
		c.identity.ObjectEncoding = objectEncoding
	}
	return &out, nil
}

// keyed is an identity of the control plane with its member's name.
type keyed struct {
	key      string
	identity *hyperv1.ManagedIdentity
}

func controlPlane(m *hyperv1.ControlPlaneManagedIdentities) []keyed {
	out := []keyed{{"cloudProvider", &m.CloudProvider}, {"nodePoolManagement", &m.NodePoolManagement}, {"controlPlaneOperator", &m.ControlPlaneOperator},
		{"ingress", &m.Ingress}, {"network", &m.Network}, {"disk", &m.Disk}, {"file", &m.File}}
	if m.ImageRegistry != nil {
		out = append(out, keyed{"imageRegistry", m.ImageRegistry})
	}
	return out
}

// ReadDataPlaneIdentities reads the file of a managed cluster's own identities; the error names the member.
func ReadDataPlaneIdentities(path string) (*hyperv1.DataPlaneManagedIdentities, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read --data-plane-identities-file: %w", err)
	}
	var out hyperv1.DataPlaneManagedIdentities
	if err := yaml.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("--data-plane-identities-file %s is not an object of client ids: %w", path, err)
	}
	for _, f := range []struct{ member, value string }{
		{"imageRegistryMSIClientID", out.ImageRegistryMSIClientID}, {"diskMSIClientID", out.DiskMSIClientID}, {"fileMSIClientID", out.FileMSIClientID},
	} {
		if !azure.IsUUID(f.value) {
			return nil, fmt.Errorf("--data-plane-identities-file %s: %s must be a valid UUID, it is %q", path, f.member, f.value)
		}
	}
	return &out, nil
}

// validateManaged refuses what roles cannot be given to.
func (o InfraOptions) validateManaged() error {
	if !o.AssignRoles || o.Managed == nil {
		return nil
	}
	for _, c := range controlPlane(&o.Managed.ControlPlane) {
		if c.identity.ClientID == "" {
			return fmt.Errorf("--managed-identities-file: %s.clientID is needed to give the identity its roles", c.key)
		}
	}
	return nil
}

// managedHolders are the principals of a managed cluster, by the keys of its grants.
func managedHolders(s *azure.Session, m *hyperv1.AzureResourceManagedIdentities) map[string]holder {
	clients := map[string]string{"dataPlane.imageRegistry": m.DataPlane.ImageRegistryMSIClientID, "dataPlane.disk": m.DataPlane.DiskMSIClientID, "dataPlane.file": m.DataPlane.FileMSIClientID}
	for _, c := range controlPlane(&m.ControlPlane) {
		clients[c.key] = string(c.identity.ClientID)
	}
	directory, out := s.NewDirectory(), map[string]holder{}
	for key, client := range clients {
		out[key] = holder{principal: func(ctx context.Context) (string, error) { return directory.PrincipalOf(ctx, client) }}
	}
	return out
}

// grants are those that the options ask for.
func (o InfraOptions) grants() []grant {
	var out []grant
	for _, r := range allGrants() {
		switch {
		case o.NoImageRegistry && r.id == "ciro":
			continue
		case o.CustomRoles && r.id == "cpo":
			r.roleGUID = roleCustomOperator
		case o.CustomRoles && r.id == "capz":
			r.roleGUID, r.roleName = "", roleNameCustomNodePool
		}
		out = append(out, r)
	}
	return out
}

// role is the GUID of the role to give. One that has no id of its own in every tenant is looked up by its name.
func (r grant) role(ctx context.Context, s *azure.Session) (string, error) {
	if r.roleName == "" {
		return r.roleGUID, nil
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
		Remedy: "leave --assign-custom-hcp-roles out to use Contributor, or have the role made", Kind: azure.Terminal}
}
