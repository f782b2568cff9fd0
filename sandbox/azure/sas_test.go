package azure_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

const (
	blobHost            = "https://acct.blob.core.windows.net/"
	blobDataContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
)

// shares is a private container with one blob, and what signs rights to it.
type shares struct {
	*sandbox
	key    *azblob.SharedKeyCredential
	user   *service.Client
	signer *service.UserDelegationCredential
}

func newShares(t *testing.T) *shares {
	t.Helper()
	s := newSandbox(t)
	s.once = true
	s.group("rg")
	shared := s.account("rg", "acct", false)
	for _, name := range []string{"con", "other"} {
		_, err := shared.CreateContainer(t.Context(), name, nil)
		must(t, err)
		_, err = shared.UploadBuffer(t.Context(), name, "dir/a b", []byte("content"), nil)
		must(t, err)
	}
	must(t, s.assign(inRG, blobDataContributor, s.me()))
	client, err := service.NewClient(blobHost, s.user(), &service.ClientOptions{ClientOptions: s.options()})
	must(t, err)
	out := &shares{sandbox: s, key: s.storageKey(), user: client}
	out.signer = out.delegation(time.Now().Add(time.Hour))
	return out
}

func (s *sandbox) storageKey() *azblob.SharedKeyCredential {
	s.t.Helper()
	c, err := armstorage.NewAccountsClient(subscription, s.user(), s.armOptions())
	must(s.t, err)
	keys, err := c.ListKeys(s.t.Context(), "rg", "acct", nil)
	must(s.t, err)
	key, err := azblob.NewSharedKeyCredential("acct", *keys.Keys[1].Value)
	must(s.t, err)
	return key
}

func (s *shares) delegation(until time.Time) *service.UserDelegationCredential {
	s.t.Helper()
	c, err := s.user.GetUserDelegationCredential(s.t.Context(), service.KeyInfo{Start: to.Ptr(time.Now().UTC().Add(-time.Minute).Format(sas.TimeFormat)), Expiry: to.Ptr(until.UTC().Format(sas.TimeFormat))}, nil)
	must(s.t, err)
	return c
}

func valuesFor(change func(*sas.BlobSignatureValues)) sas.BlobSignatureValues {
	v := sas.BlobSignatureValues{Protocol: sas.ProtocolHTTPS, ExpiryTime: time.Now().UTC().Add(time.Hour), Permissions: "r", ContainerName: "con", BlobName: "dir/a b"}
	if change != nil {
		change(&v)
	}
	return v
}

// signed are the parameters of the same right, signed by the account and by the user.
func (s *shares) signed(change func(*sas.BlobSignatureValues)) map[string]string {
	s.t.Helper()
	v := valuesFor(change)
	byKey, err := v.SignWithSharedKey(s.key)
	must(s.t, err)
	byUser, err := v.SignWithUserDelegation(s.signer)
	must(s.t, err)
	return map[string]string{"key": byKey.Encode(), "user": byUser.Encode()}
}

func (s *shares) wants(what string, got answer, status int, parts ...string) {
	s.t.Helper()
	if got.status != status {
		s.t.Errorf("%s: %d %s, want %d", what, got.status, got.text, status)
	}
	for _, p := range parts {
		if !strings.Contains(got.text, p) {
			s.t.Errorf("%s: %s, want %q in it", what, got.text, p)
		}
	}
}

const ourBlob = blobHost + "con/dir/a%20b"

// A URL with a signature opens what it says and nothing else; Microsoft's library signs, and the service has to agree with it.
func TestSharedAccessSignatures(t *testing.T) {
	s := newShares(t)
	tampered := func(q string, name, value string) string {
		values, err := url.ParseQuery(q)
		must(t, err)
		values.Set(name, value)
		return values.Encode()
	}
	for by, q := range s.signed(nil) {
		s.wants(by, s.request("GET", ourBlob+"?"+q, ""), 200, "content")
		s.wants(by+" HEAD", s.request("HEAD", ourBlob+"?"+q, ""), 200)
		s.wants(by+" of another container", s.request("GET", blobHost+"other/dir/a%20b?"+q, ""), 403, "<Code>AuthenticationFailed</Code>", "<AuthenticationErrorDetail>Signature did not match")
		s.wants(by+" to write", s.request("PUT", ourBlob+"?"+q, "x", "x-ms-blob-type", "BlockBlob"), 403, "<Code>AuthorizationPermissionMismatch</Code>")
		s.wants(by+" to delete", s.request("DELETE", ourBlob+"?"+q, ""), 403, "<Code>AuthorizationPermissionMismatch</Code>")
		for name, value := range map[string]string{"sig": "d3Jvbmc=", "sp": "rwd", "se": "2099-01-01T00:00:00Z", "spr": "https,http", "sv": "2022-11-02"} {
			s.wants(by+" with another "+name, s.request("GET", ourBlob+"?"+tampered(q, name, value), ""), 403, "AuthenticationFailed", "Signature did not match")
		}
		s.wants(by+" without encryption", s.request("GET", ourBlob+"?"+tampered(q, "spr", "http"), ""), 403, "AuthenticationFailed", "protocol (spr)")
		s.wants(by+" of the future", s.request("GET", ourBlob+"?"+tampered(q, "sv", "2031-01-01"), ""), 403, "AuthenticationFailed", "2025-05-05")
	}
	for what, c := range map[string]struct {
		change func(*sas.BlobSignatureValues)
		status int
		text   string
	}{
		"expired":           {func(v *sas.BlobSignatureValues) { v.ExpiryTime = time.Now().UTC().Add(-time.Minute) }, 403, "Signature not valid in the specified time frame"},
		"not yet valid":     {func(v *sas.BlobSignatureValues) { v.StartTime = time.Now().UTC().Add(time.Minute) }, 403, "Signature not valid in the specified time frame"},
		"started":           {func(v *sas.BlobSignatureValues) { v.StartTime = time.Now().UTC().Add(-time.Minute) }, 200, "content"},
		"without reading":   {func(v *sas.BlobSignatureValues) { v.Permissions = "wd" }, 403, "AuthorizationPermissionMismatch"},
		"of the container":  {func(v *sas.BlobSignatureValues) { v.BlobName = "" }, 200, "content"},
		"from here":         {func(v *sas.BlobSignatureValues) { v.IPRange.Start = []byte{127, 0, 0, 1} }, 200, "content"},
		"from elsewhere":    {func(v *sas.BlobSignatureValues) { v.IPRange.Start = []byte{192, 0, 2, 1} }, 403, "AuthorizationSourceIPMismatch"},
		"of another blob":   {func(v *sas.BlobSignatureValues) { v.BlobName = "dir" }, 403, "AuthenticationFailed"},
		"of no blob at all": {func(v *sas.BlobSignatureValues) { v.ContainerName, v.BlobName = "none", "" }, 403, "AuthenticationFailed"},
	} {
		for by, q := range s.signed(c.change) {
			s.wants(by+" "+what, s.request("GET", ourBlob+"?"+q, ""), c.status, c.text)
		}
	}
	log, err := os.ReadFile(filepath.Join(s.cfg.Dir, "access.log"))
	must(t, err)
	if !bytes.Contains(log, []byte("sig=REDACTED")) || bytes.Count(log, []byte("sig=")) != bytes.Count(log, []byte("sig=REDACTED")) {
		t.Error("the access log has a signature, with which anybody may read")
	}
}

// A signature for writing creates or replaces, by its letter; one for a container lists.
func TestSignaturesByPermission(t *testing.T) {
	s := newShares(t)
	for by := range s.signed(nil) {
		with := func(change func(*sas.BlobSignatureValues)) string { return "?" + s.signed(change)[by] }
		fresh := func(v *sas.BlobSignatureValues) { v.Permissions, v.BlobName = "c", "fresh-"+by }
		kind := []string{"x-ms-blob-type", "BlockBlob"}
		s.wants("creating", s.request("PUT", blobHost+"con/fresh-"+by+with(fresh), "1", kind...), 201)
		s.wants("creating what is there", s.request("PUT", blobHost+"con/fresh-"+by+with(fresh), "2", kind...), 403, "AuthorizationPermissionMismatch")
		s.wants("writing", s.request("PUT", ourBlob+with(func(v *sas.BlobSignatureValues) { v.Permissions = "w" }), "content", kind...), 201)
		list := with(func(v *sas.BlobSignatureValues) { v.Permissions, v.BlobName = "l", "" }) + "&restype=container&comp=list"
		s.wants("listing", s.request("GET", blobHost+"con"+list, ""), 200, "<Name>dir/a b</Name>")
		s.wants("listing another", s.request("GET", blobHost+"other"+list, ""), 403, "AuthenticationFailed")
		s.wants("deleting the container", s.request("DELETE", blobHost+"con"+with(func(v *sas.BlobSignatureValues) { v.Permissions, v.BlobName = "d", "" })+"&restype=container", ""), 403, "AuthorizationPermissionMismatch")
		got := s.request("GET", ourBlob+with(func(v *sas.BlobSignatureValues) { v.ContentType = "text/x" }), "")
		if s.wants("a header of its own", got, 200); got.header.Get("Content-Type") != "text/x" {
			t.Errorf("the content type is %s", got.header.Get("Content-Type"))
		}
	}
	s.wants("without a signature", s.request("GET", ourBlob, ""), 409, "PublicAccessNotPermitted")
}

// An account's signature covers services and kinds of resources.
func TestAccountSignatures(t *testing.T) {
	s := newShares(t)
	sign := func(permissions, types string) string {
		q, err := sas.AccountSignatureValues{ExpiryTime: time.Now().UTC().Add(time.Hour), Permissions: permissions, ResourceTypes: types}.SignWithSharedKey(s.key)
		must(t, err)
		return q.Encode()
	}
	s.wants("a blob", s.request("GET", ourBlob+"?"+sign("r", "o"), ""), 200, "content")
	s.wants("a blob, for containers", s.request("GET", ourBlob+"?"+sign("r", "c"), ""), 403, "AuthorizationResourceTypeMismatch")
	s.wants("containers", s.request("GET", blobHost+"?comp=list&"+sign("l", "s"), ""), 200, "<Name>other</Name>")
	s.wants("a new container", s.request("PUT", blobHost+"made?restype=container&"+sign("c", "c"), ""), 201)
	s.wants("without the permission", s.request("DELETE", ourBlob+"?"+sign("rwc", "sco"), ""), 403, "AuthorizationPermissionMismatch")
	s.wants("another service", s.request("GET", ourBlob+"?"+strings.Replace(sign("r", "o"), "ss=b", "ss=q", 1), ""), 403)
}

// Who delegates needs a right to, gives no more than he has, and takes it back.
func TestUserDelegation(t *testing.T) {
	s := newShares(t)
	ctx := t.Context()
	_, err := s.user.GetUserDelegationCredential(ctx, service.KeyInfo{Start: to.Ptr(time.Now().UTC().Format(sas.TimeFormat)), Expiry: to.Ptr(time.Now().UTC().Add(8 * 24 * time.Hour).Format(sas.TimeFormat))}, nil)
	wantCode(t, err, 400, "InvalidXmlNodeValue")
	object, credential := s.servicePrincipal("reader")
	other, err := service.NewClient(blobHost, credential, &service.ClientOptions{ClientOptions: s.options()})
	must(t, err)
	info := service.KeyInfo{Start: to.Ptr(time.Now().UTC().Add(-time.Minute).Format(sas.TimeFormat)), Expiry: to.Ptr(time.Now().UTC().Add(time.Hour).Format(sas.TimeFormat))}
	_, err = other.GetUserDelegationCredential(ctx, info, nil)
	wantCode(t, err, 403, "AuthorizationPermissionMismatch")
	must(t, s.assign(inRG, blobDataReader, object))
	readers, err := other.GetUserDelegationCredential(ctx, info, nil)
	must(t, err)
	q, err := valuesFor(func(v *sas.BlobSignatureValues) { v.Permissions = "rd" }).SignWithUserDelegation(readers)
	must(t, err)
	s.wants("a reader's signature", s.request("GET", ourBlob+"?"+q.Encode(), ""), 200, "content")
	s.wants("more than the reader may", s.request("DELETE", ourBlob+"?"+q.Encode(), ""), 403, "AuthorizationPermissionMismatch")

	if got := s.call("POST", account+"/revokeUserDelegationKeys", ""); got.status != http.StatusOK {
		t.Fatalf("revoking: %d %s", got.status, got.text)
	}
	s.wants("a revoked key", s.request("GET", ourBlob+"?"+q.Encode(), ""), 403, "AuthenticationFailed", "Signature did not match")
	s.signer = s.delegation(time.Now().Add(time.Hour))
	s.wants("a new key", s.request("GET", ourBlob+"?"+s.signed(nil)["user"], ""), 200)
}

// An account that allows no keys refuses what is signed with one, and still takes what a user signs.
func TestKeysNotAllowed(t *testing.T) {
	s := newShares(t)
	signed := s.signed(nil)
	if got := s.call("PATCH", account, `{"properties":{"allowSharedKeyAccess":false}}`); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.text)
	}
	s.wants("key", s.request("GET", ourBlob+"?"+signed["key"], ""), 403, "KeyBasedAuthenticationNotPermitted")
	s.wants("user", s.request("GET", ourBlob+"?"+signed["user"], ""), 200, "content")
	c, err := azblob.NewClientWithSharedKeyCredential(blobHost, s.key, &azblob.ClientOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = c.ServiceClient().NewContainerClient("con").NewBlobClient("dir/a b").GetProperties(t.Context(), &blob.GetPropertiesOptions{})
	wantCode(t, err, 403, "KeyBasedAuthenticationNotPermitted")
}
