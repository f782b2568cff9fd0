package azure_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/uuid"
)

const contributor = "b24988ac-6180-42a0-ab88-20f7382dd24c"

func managementScope() policy.TokenRequestOptions {
	return policy.TokenRequestOptions{Scopes: []string{"https://management.azure.com/.default"}}
}

func (s *sandbox) identity(group, name string) *armmsi.Identity {
	s.t.Helper()
	c, err := armmsi.NewUserAssignedIdentitiesClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	out, err := c.CreateOrUpdate(s.t.Context(), group, name, armmsi.Identity{Location: to.Ptr(location)}, nil)
	must(s.t, err)
	return &out.Identity
}

func (s *sandbox) federations() *armmsi.FederatedIdentityCredentialsClient {
	s.t.Helper()
	c, err := armmsi.NewFederatedIdentityCredentialsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	return c
}

func federation(issuer, subject string) armmsi.FederatedIdentityCredential {
	return armmsi.FederatedIdentityCredential{Properties: &armmsi.FederatedIdentityCredentialProperties{
		Issuer: to.Ptr(issuer), Subject: to.Ptr(subject), Audiences: []*string{to.Ptr("openshift")}}}
}

func (s *sandbox) assign(scope, role, principal string) error {
	s.t.Helper()
	c, err := armauthorization.NewRoleAssignmentsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	_, err = c.Create(s.t.Context(), scope, uuid.NewString(), armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
		PrincipalID: to.Ptr(principal), RoleDefinitionID: to.Ptr("/subscriptions/" + subscription + "/providers/Microsoft.Authorization/roleDefinitions/" + role)}}, nil)
	return err
}

// account makes a storage account and returns a shared-key client of its blobs.
func (s *sandbox) account(group, name string, public bool) *azblob.Client {
	s.t.Helper()
	c, err := armstorage.NewAccountsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	p, err := c.BeginCreate(s.t.Context(), group, name, armstorage.AccountCreateParameters{Kind: to.Ptr(armstorage.KindStorageV2), Location: to.Ptr(location),
		SKU: &armstorage.SKU{Name: to.Ptr(armstorage.SKUNameStandardLRS)}, Properties: &armstorage.AccountPropertiesCreateParameters{AllowBlobPublicAccess: to.Ptr(public)}}, nil)
	done(s.t, p, err)
	keys, err := c.ListKeys(s.t.Context(), group, name, nil)
	must(s.t, err)
	cred, err := azblob.NewSharedKeyCredential(name, *keys.Keys[0].Value)
	must(s.t, err)
	b, err := azblob.NewClientWithSharedKeyCredential("https://"+name+".blob.core.windows.net/", cred, &azblob.ClientOptions{ClientOptions: s.options()})
	must(s.t, err)
	return b
}

// issuer publishes the documents of a service account issuer in a public container.
type issuer struct {
	url string
	key *rsa.PrivateKey
}

func (s *sandbox) issuer(group string) issuer {
	s.t.Helper()
	blobs := s.account(group, "oidcacct", true)
	_, err := blobs.CreateContainer(s.t.Context(), "demo", &container.CreateOptions{Access: to.Ptr(container.PublicAccessTypeContainer)})
	must(s.t, err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(s.t, err)
	i := issuer{"https://oidcacct.blob.core.windows.net/demo", key}
	doc, _ := json.Marshal(map[string]string{"issuer": i.url, "jwks_uri": i.url + "/openid/v1/jwks"})
	keys, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	for name, data := range map[string][]byte{".well-known/openid-configuration": doc, "openid/v1/jwks": keys} {
		_, err = blobs.UploadBuffer(s.t.Context(), "demo", name, data, nil)
		must(s.t, err)
	}
	return i
}

func (i issuer) token(t *testing.T, subject, audience string, expiry time.Time) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	must(t, err)
	raw, err := jwt.Signed(signer).Claims(jwt.Claims{Issuer: i.url, Subject: subject, Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(expiry)}).Serialize()
	must(t, err)
	return raw
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	return key
}

func (s *sandbox) workload(clientID, token string) azcore.TokenCredential {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "token")
	must(s.t, os.WriteFile(file, []byte(token), 0o600))
	c, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{ClientOptions: s.options(), ClientID: clientID, TenantID: tenant, TokenFilePath: file})
	must(s.t, err)
	return c
}

func TestWorkloadIdentity(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	iss := s.issuer("rg")
	mi := s.identity("rg", "capz")
	const subject = "system:serviceaccount:kube-system:capi-provider"
	id, soon := *mi.Properties.ClientID, time.Now().Add(time.Hour)

	_, err := s.workload(id, iss.token(t, subject, "openshift", soon)).GetToken(t.Context(), managementScope())
	wantAADSTS(t, err, "70025")
	_, err = s.federations().CreateOrUpdate(t.Context(), "rg", "capz", "fic", federation(iss.url, subject), nil)
	must(t, err)
	other := iss
	other.key = newKey(t)
	for number, c := range map[string]struct{ id, token string }{
		"700016": {uuid.NewString(), iss.token(t, subject, "openshift", soon)},
		"700213": {id, iss.token(t, subject+"x", "openshift", soon)},
		"700212": {id, iss.token(t, subject, "azure", soon)},
		"700024": {id, iss.token(t, subject, "openshift", time.Now().Add(-time.Hour))},
		"700027": {id, other.token(t, subject, "openshift", soon)},
		"50027":  {id, "nonsense"},
	} {
		_, err := s.workload(c.id, c.token).GetToken(t.Context(), managementScope())
		wantAADSTS(t, err, number)
	}

	// No role yet: refused. With a role on the group: only there.
	cred := s.workload(id, iss.token(t, subject, "openshift", soon))
	groups, err := armresources.NewResourceGroupsClient(subscription, cred, s.armOptions())
	must(t, err)
	_, err = groups.Get(t.Context(), "rg", nil)
	wantCode(t, err, 403, "AuthorizationFailed")
	scope := "/subscriptions/" + subscription + "/resourceGroups/rg"
	must(t, s.assign(scope, contributor, *mi.Properties.PrincipalID))
	wantCode(t, s.assign(scope, contributor, *mi.Properties.PrincipalID), 409, "RoleAssignmentExists")
	_, err = groups.Get(t.Context(), "rg", nil)
	must(t, err)
	s.group("other")
	_, err = groups.Get(t.Context(), "other", nil)
	wantCode(t, err, 403, "AuthorizationFailed")
	page, err := groups.NewListPager(nil).NextPage(t.Context())
	must(t, err)
	if len(page.Value) != 1 || *page.Value[0].Name != "rg" {
		t.Errorf("a list shows %d groups", len(page.Value))
	}
}

// A component whose role is on resource groups only still reads what describes the subscription, and lists what it may see.
func TestSubscriptionSeenFromAGroup(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.group("other")
	s.vm("other", "foreign", s.nic("other", "nic", s.vnet("other")))
	s.vm("rg", "own", s.nic("rg", "nic", s.vnet("rg")))
	iss := s.issuer("rg")
	mi := s.identity("rg", "ccm")
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "ccm", "fic", federation(iss.url, "s"), nil)
	must(t, err)
	cred := s.workload(*mi.Properties.ClientID, iss.token(t, "s", "openshift", time.Now().Add(time.Hour)))
	compute, err := armcompute.NewClientFactory(subscription, cred, s.armOptions())
	must(t, err)
	providers, err := armresources.NewProvidersClient(subscription, cred, s.armOptions())
	must(t, err)
	_, err = compute.NewResourceSKUsClient().NewListPager(nil).NextPage(t.Context())
	wantCode(t, err, 403, "AuthorizationFailed")
	_, err = providers.Get(t.Context(), "Microsoft.Compute", nil)
	wantCode(t, err, 403, "AuthorizationFailed")

	const cloudControllerManager = "a1f96423-95ce-4224-ab27-4e3dc72facd4"
	must(t, s.assign("/subscriptions/"+subscription+"/resourceGroups/rg", cloudControllerManager, *mi.Properties.PrincipalID))
	_, err = compute.NewResourceSKUsClient().NewListPager(nil).NextPage(t.Context())
	must(t, err)
	_, err = providers.Get(t.Context(), "Microsoft.Compute", nil)
	must(t, err)
	page, err := compute.NewVirtualMachinesClient().NewListAllPager(nil).NextPage(t.Context())
	must(t, err)
	if len(page.Value) != 1 || *page.Value[0].Name != "own" {
		t.Errorf("the list shows %d machines", len(page.Value))
	}
	_, err = compute.NewVirtualMachinesClient().BeginDelete(t.Context(), "rg", "own", nil)
	wantCode(t, err, 403, "AuthorizationFailed")
}

// ExternalDNS has roles on its zone only and lists the zones of the group: it sees that one.
func TestGroupSeenFromAResource(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	vnet := s.vnet("rg")
	s.vm("rg", "own", s.nic("rg", "nic", vnet))
	s.vm("rg", "foreign", s.nic("rg", "nic2", vnet))
	iss := s.issuer("rg")
	mi := s.identity("rg", "one")
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "one", "fic", federation(iss.url, "s"), nil)
	must(t, err)
	cred := s.workload(*mi.Properties.ClientID, iss.token(t, "s", "openshift", time.Now().Add(time.Hour)))
	machines, err := armcompute.NewVirtualMachinesClient(subscription, cred, s.armOptions())
	must(t, err)
	_, err = machines.NewListPager("rg", nil).NextPage(t.Context())
	wantCode(t, err, 403, "AuthorizationFailed")
	must(t, s.assign("/subscriptions/"+subscription+"/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/own", contributor, *mi.Properties.PrincipalID))
	page, err := machines.NewListPager("rg", nil).NextPage(t.Context())
	must(t, err)
	if len(page.Value) != 1 || *page.Value[0].Name != "own" {
		t.Errorf("the list shows %d machines", len(page.Value))
	}
}

func wantAADSTS(t *testing.T, err error, number string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "AADSTS"+number+":") {
		t.Errorf("want AADSTS%s, got %v", number, err)
	}
}

func TestClientSecretAndCertificate(t *testing.T) {
	s := newSandbox(t)
	s.unmanaged = true
	for number, c := range map[string]struct{ tenant, id, secret string }{
		"7000215": {tenant, clientID, "wrong"}, "700016": {tenant, uuid.NewString(), "x"}, "90002": {uuid.NewString(), clientID, secret},
	} {
		cred, err := azidentity.NewClientSecretCredential(c.tenant, c.id, c.secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options(), DisableInstanceDiscovery: true})
		must(t, err)
		_, err = cred.GetToken(t.Context(), managementScope())
		wantAADSTS(t, err, number)
	}

	key := newKey(t)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "sp"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	app := s.graph("POST", "applications", map[string]any{"displayName": "cert", "keyCredentials": []any{map[string]any{"type": "AsymmetricX509Cert", "usage": "Verify", "key": base64.StdEncoding.EncodeToString(der)}}})
	s.graph("POST", "servicePrincipals", map[string]any{"appId": app["appId"]})
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	cred, err := azidentity.NewClientCertificateCredential(tenant, app["appId"].(string), []*x509.Certificate{cert}, key, &azidentity.ClientCertificateCredentialOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = cred.GetToken(t.Context(), managementScope())
	must(t, err)
	forged, err := azidentity.NewClientCertificateCredential(tenant, app["appId"].(string), []*x509.Certificate{cert}, newKey(t), &azidentity.ClientCertificateCredentialOptions{ClientOptions: s.options()})
	if err == nil {
		_, err = forged.GetToken(t.Context(), managementScope())
	}
	if err == nil {
		t.Error("a certificate with a foreign key was accepted")
	}
}

// graph calls Microsoft Graph as the user.
func (s *sandbox) graph(method, path string, body any) map[string]any {
	s.t.Helper()
	tok, err := s.user().GetToken(s.t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://graph.microsoft.com/.default"}})
	must(s.t, err)
	data, err := json.Marshal(body)
	must(s.t, err)
	req, err := http.NewRequestWithContext(s.t.Context(), method, "https://graph.microsoft.com/v1.0/"+path, strings.NewReader(string(data)))
	must(s.t, err)
	req.Header.Set("Authorization", "Bearer "+tok.Token)
	resp, err := s.http.Do(req)
	must(s.t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode/100 != 2 {
		s.t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
	out := map[string]any{}
	_ = json.Unmarshal(text, &out)
	return out
}

func TestGraph(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	mi := s.identity("rg", "disk")
	found := s.graph("GET", "servicePrincipals?$filter=appId%20eq%20%27"+*mi.Properties.ClientID+"%27", nil)
	list := found["value"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != *mi.Properties.PrincipalID {
		t.Errorf("the identity is not visible: %v", found)
	}
	if same := s.graph("GET", "servicePrincipals(appId='"+*mi.Properties.ClientID+"')", nil); same["id"] != *mi.Properties.PrincipalID {
		t.Errorf("by its client id: %v", same)
	}
	app := s.graph("POST", "applications", map[string]any{"displayName": "dns"})
	sp := s.graph("POST", "servicePrincipals", map[string]any{"appId": app["appId"]})
	pw := s.graph("POST", fmt.Sprintf("applications/%s/addPassword", app["id"]), map[string]any{})
	cred, err := azidentity.NewClientSecretCredential(tenant, app["appId"].(string), pw["secretText"].(string), &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = cred.GetToken(t.Context(), managementScope())
	must(t, err)
	must(t, s.assign("/subscriptions/"+subscription, contributor, sp["id"].(string)))
	s.graph("POST", fmt.Sprintf("applications/%s/removePassword", app["id"]), map[string]any{"keyId": pw["keyId"]})
	again, err := azidentity.NewClientSecretCredential(tenant, app["appId"].(string), pw["secretText"].(string), &azidentity.ClientSecretCredentialOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = again.GetToken(t.Context(), managementScope())
	wantAADSTS(t, err, "7000215")
	journal, err := os.ReadFile(filepath.Join(s.cfg.Dir, "state", "journal.jsonl"))
	must(t, err)
	if strings.Contains(string(journal), pw["secretText"].(string)) || strings.Contains(string(journal), secret+`"`) {
		t.Error("a secret is in the journal")
	}
}

func TestFederatedCredentialLimits(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	s.identity("rg", "many")
	c := s.federations()
	for i := range 20 {
		_, err := c.CreateOrUpdate(t.Context(), "rg", "many", fmt.Sprintf("fic%d", i), federation("https://i", fmt.Sprint(i)), nil)
		must(t, err)
	}
	_, err := c.CreateOrUpdate(t.Context(), "rg", "many", "fic20", federation("https://i", "20"), nil)
	wantCode(t, err, 400, "BadRequest")
	_, err = c.CreateOrUpdate(t.Context(), "rg", "many", "fic1", federation("https://i", "2"), nil)
	wantCode(t, err, 409, "Conflict")
	if out, err := c.CreateOrUpdate(t.Context(), "rg", "many", "fic1", federation("https://i", "1"), nil); err != nil || *out.Name != "fic1" {
		t.Error("the same credential again", err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = c.CreateOrUpdate(t.Context(), "rg", "many", fmt.Sprintf("fic%d", i), federation("https://i", fmt.Sprint(i)), nil)
		})
	}
	wg.Wait()
	refused := 0
	for _, err := range errs {
		if err != nil {
			wantCode(t, err, 409, "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity")
			refused++
		}
	}
	if refused == 0 {
		t.Error("parallel writes to one identity are all accepted")
	}
}
