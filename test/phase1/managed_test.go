package phase1

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// TestManagedIdentities gives the identities of the managed flavour their roles: those of the control plane are service principals.
func TestManagedIdentities(t *testing.T) {
	dir := t.TempDir()
	w := startWorld(t, dir)
	s, err := w.signIn()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "managed.json"), []byte(w.principals(t, s)), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(w.dataPlane(t, s)), 0o600))
	sh := w.shell(t, dir)
	create := strings.Fields("hypershift create infra azure --name demo --infra-id demo-1 --base-domain example.com --managed-identities-file managed.json --data-plane-identities-file data.yaml " +
		"--assign-identity-roles --output-file infra.yaml --azure-creds " + w.credentials)
	roles := func() (n int) {
		all, err := s.AssignmentsBelow(context.Background())
		must(t, err)
		for _, a := range all {
			if strings.Contains(a.Scope, "demo-1") || strings.Contains(a.Scope, "/parent") {
				n++
			}
		}
		return n
	}

	if _, messages, err := sh.try(append(create, "--assign-custom-hcp-roles")...); err == nil || !strings.Contains(messages, "knows no role of this name") {
		t.Errorf("a role that does not exist: %v, %s", err, messages)
	}
	sh.run("hypershift", "destroy", "infra", "azure", "--name", "demo", "--infra-id", "demo-1", "--azure-creds", w.credentials)
	sh.run(append(create, "--disable-cluster-capabilities", "ImageRegistry")...)
	if got := roles(); got != 18 {
		t.Errorf("%d role assignments without an image registry, want 18", got)
	}
	sh.run(create...)
	if got := roles(); got != 19 {
		t.Errorf("%d role assignments, want 19", got)
	}
	manifests, _ := sh.run(strings.Fields("hypershift create cluster azure --name demo --infra-json infra.yaml --pull-secret pull.json --release-image quay.io/ocp:1 --render --azure-creds " + w.credentials)...)
	for _, want := range []string{"azureAuthenticationConfigType: ManagedIdentities", "credentialsSecretName: demo-ingress", "objectEncoding: utf-8", "diskMSIClientID: "} {
		if !strings.Contains(manifests, want) {
			t.Errorf("%q is missing in\n%s", want, manifests)
		}
	}
	sh.run("hypershift", "destroy", "infra", "azure", "--name", "demo", "--infra-id", "demo-1", "--azure-creds", w.credentials)
	if got := roles(); got != 0 {
		t.Errorf("%d role assignments are left", got)
	}
}

// principals makes the applications of the control plane and describes them as a person hands them over.
func (w *world) principals(t *testing.T, s *azure.Session) string {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(filepath.Dir(w.ca), "pull.json"), []byte(`{"auths":{}}`), 0o600))
	members := []string{`"managedIdentitiesKeyVault":{"name":"vault","tenantID":"` + tenant + `"}`}
	for _, key := range []string{"cloudProvider", "nodePoolManagement", "controlPlaneOperator", "imageRegistry", "ingress", "network", "disk", "file"} {
		app, err := s.EnsureApplication(context.Background(), "demo-"+key)
		must(t, err)
		members = append(members, fmt.Sprintf(`%q:{"clientID":%q,"credentialsSecretName":%q,"objectEncoding":"hex","certificateName":"c"}`, key, app.ClientID, "demo-"+key))
	}
	return `{"controlPlane":{` + strings.Join(members, ",") + `}}`
}

// dataPlane makes the managed identities of the hosted cluster's own components.
func (w *world) dataPlane(t *testing.T, s *azure.Session) string {
	t.Helper()
	_, err := s.Put(context.Background(), s.GroupID("ids"), "2021-04-01", azure.Resource{Location: "eastus"})
	must(t, err)
	var b strings.Builder
	for _, key := range []string{"imageRegistry", "disk", "file"} {
		identity, err := s.Put(context.Background(), s.ResourceID("ids", "Microsoft.ManagedIdentity/userAssignedIdentities", key), apiIdentity, azure.Resource{Location: "eastus"})
		must(t, err)
		fmt.Fprintf(&b, "%sMSIClientID: %s\n", key, identity.Property("clientId"))
	}
	return b.String()
}
