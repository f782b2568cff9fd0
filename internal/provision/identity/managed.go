package identity

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sync"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
)

// objectEncoding of the credentials in the key vault, whatever the file says: the components read no other.
const objectEncoding = "utf-8"

var vaultSecretPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9-]{1,127}$`)
})

// ReadManagedIdentities reads the file of the control plane's identities, bare or as the member controlPlane of a larger one.
func ReadManagedIdentities(path string) (*hyperv1.ControlPlaneManagedIdentities, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, field.Errorf(FieldManagedFile, "cannot read %s: %w", FieldManagedFile, err)
	}
	out, err := ParseManagedIdentities(raw)
	if err != nil {
		return nil, FieldManagedFile.Wrong("%s: %w", path, err)
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
	for _, c := range ControlPlane(&out) {
		if !vaultSecretPattern().MatchString(c.Identity.CredentialsSecretName) {
			return nil, fmt.Errorf("%s.credentialsSecretName must name a secret of the key vault, it is %q", c.Key, c.Identity.CredentialsSecretName)
		}
		if id := string(c.Identity.ClientID); id != "" && !azure.IsUUID(id) {
			return nil, fmt.Errorf("%s.clientID must be a valid UUID, it is %q", c.Key, id)
		}
		c.Identity.ObjectEncoding = objectEncoding
	}
	return &out, nil
}

// ControlPlaneIdentity is an identity of the control plane with its member's name.
type ControlPlaneIdentity struct {
	Key      string
	Identity *hyperv1.ManagedIdentity
}

// ControlPlane are the identities of the control plane by the names of their members.
func ControlPlane(m *hyperv1.ControlPlaneManagedIdentities) []ControlPlaneIdentity {
	out := []ControlPlaneIdentity{{"cloudProvider", &m.CloudProvider}, {"nodePoolManagement", &m.NodePoolManagement}, {"controlPlaneOperator", &m.ControlPlaneOperator},
		{"ingress", &m.Ingress}, {"network", &m.Network}, {"disk", &m.Disk}, {"file", &m.File}}
	if m.ImageRegistry != nil {
		out = append(out, ControlPlaneIdentity{"imageRegistry", m.ImageRegistry})
	}
	return out
}

// ReadDataPlaneIdentities reads the file of a managed cluster's own identities; the error names the member.
func ReadDataPlaneIdentities(path string) (*hyperv1.DataPlaneManagedIdentities, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, field.Errorf(FieldDataPlaneFile, "cannot read %s: %w", FieldDataPlaneFile, err)
	}
	var out hyperv1.DataPlaneManagedIdentities
	if err := yaml.Unmarshal(raw, &out); err != nil {
		return nil, FieldDataPlaneFile.Wrong("%s is not an object of client ids: %w", path, err)
	}
	for _, f := range []struct{ member, value string }{
		{"imageRegistryMSIClientID", out.ImageRegistryMSIClientID}, {"diskMSIClientID", out.DiskMSIClientID}, {"fileMSIClientID", out.FileMSIClientID},
	} {
		if !azure.IsUUID(f.value) {
			return nil, FieldDataPlaneFile.Wrong("%s: %s must be a valid UUID, it is %q", path, f.member, f.value)
		}
	}
	return &out, nil
}
