package azure_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
)

func (s *sandbox) get(url string) (int, string) {
	s.t.Helper()
	resp, err := s.http.Get(url)
	must(s.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(s.t, err)
	return resp.StatusCode, string(data)
}

func TestBlobs(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ctx := t.Context()
	c := s.account("rg", "acct", true)
	_, err := c.UploadBuffer(ctx, "none", "b", []byte("x"), nil)
	wantCode(t, err, 404, "ContainerNotFound")
	_, err = c.CreateContainer(ctx, "pub", &container.CreateOptions{Access: to.Ptr(container.PublicAccessTypeBlob)})
	must(t, err)
	_, err = c.CreateContainer(ctx, "pub", nil)
	wantCode(t, err, 409, "ContainerAlreadyExists")
	_, err = c.CreateContainer(ctx, "priv", nil)
	must(t, err)
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for _, name := range []string{"pub", "priv"} {
		_, err = c.UploadStream(ctx, name, "dir/a b.bin", bytes.NewReader(big), &azblob.UploadStreamOptions{BlockSize: 300_000})
		must(t, err)
	}
	back := make([]byte, len(big))
	n, err := c.DownloadBuffer(ctx, "priv", "dir/a b.bin", back, nil)
	must(t, err)
	if n != int64(len(big)) || !bytes.Equal(back, big) {
		t.Error("the content differs")
	}
	page, err := c.NewListBlobsFlatPager("priv", nil).NextPage(ctx)
	must(t, err)
	if len(page.Segment.BlobItems) != 1 || *page.Segment.BlobItems[0].Name != "dir/a b.bin" || *page.Segment.BlobItems[0].Properties.ContentLength != int64(len(big)) {
		t.Errorf("list: %+v", page.Segment.BlobItems)
	}
	const host = "https://acct.blob.core.windows.net/"
	if status, text := s.get(host + "pub/dir/a%20b.bin"); status != 200 || text != string(big) {
		t.Errorf("anonymous read of a public blob: %d", status)
	}
	for _, path := range []string{"priv/dir/a%20b.bin", "pub?restype=container&comp=list"} {
		if status, _ := s.get(host + path); status != http.StatusNotFound {
			t.Errorf("anonymous read of %s: %d", path, status)
		}
	}
	s.restart()
	if status, _ := s.get(host + "pub/dir/a%20b.bin"); status != 200 {
		t.Errorf("after a restart: %d", status)
	}
}

func TestBlobListsComeInPages(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ctx := t.Context()
	c := s.account("rg", "acct", false)
	for _, name := range []string{"c-a", "zzz", "c-b"} {
		_, err := c.CreateContainer(ctx, name, nil)
		must(t, err)
	}
	for _, name := range []string{"ab", "a--b", "-ab", "Abc", strings.Repeat("a", 64)} {
		_, err := c.CreateContainer(ctx, name, nil)
		wantCode(t, err, 400, "InvalidResourceName")
	}
	var got []string
	containers := c.NewListContainersPager(&azblob.ListContainersOptions{Prefix: to.Ptr("c-"), MaxResults: to.Ptr(int32(1))})
	for containers.More() {
		page, err := containers.NextPage(ctx)
		must(t, err)
		for _, i := range page.ContainerItems {
			got = append(got, *i.Name)
		}
		got = append(got, "|")
	}
	if text := strings.Join(got, " "); text != "c-a | c-b |" {
		t.Errorf("containers: %s", text)
	}

	for _, name := range []string{"b", "d/1", "d/2", "d/3", "a&<b", "e/x"} {
		_, err := c.UploadBuffer(ctx, "zzz", name, []byte(name), &azblob.UploadBufferOptions{Metadata: map[string]*string{"k": to.Ptr("v")}})
		must(t, err)
	}
	got = nil
	flat := c.NewListBlobsFlatPager("zzz", &azblob.ListBlobsFlatOptions{MaxResults: to.Ptr(int32(4)), Include: container.ListBlobsInclude{Metadata: true}})
	for flat.More() {
		page, err := flat.NextPage(ctx)
		must(t, err)
		for _, i := range page.Segment.BlobItems {
			got = append(got, *i.Name)
			if *i.Metadata["k"] != "v" {
				t.Errorf("metadata of %s: %v", *i.Name, i.Metadata)
			}
		}
		got = append(got, "|")
	}
	if text := strings.Join(got, " "); text != "a&<b b d/1 d/2 | d/3 e/x |" {
		t.Errorf("blobs: %s", text)
	}
	got = nil
	tree := c.ServiceClient().NewContainerClient("zzz").NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{MaxResults: to.Ptr(int32(3))})
	for tree.More() {
		page, err := tree.NextPage(ctx)
		must(t, err)
		for _, i := range page.Segment.BlobItems {
			got = append(got, *i.Name)
		}
		for _, p := range page.Segment.BlobPrefixes {
			got = append(got, *p.Name)
		}
		got = append(got, "|")
	}
	if text := strings.Join(got, " "); text != "a&<b b d/ | e/ |" {
		t.Errorf("tree: %s", text)
	}
}

// A static website is read by anybody where blobs are not; so Entra reads an issuer there too.
func TestStaticWebsite(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ctx := t.Context()
	c := s.account("rg", "acct", false)
	const site = "https://acct.z13.web.core.windows.net/"
	if status, _ := s.get(site); status != http.StatusNotFound {
		t.Errorf("before: %d", status)
	}
	_, err := c.ServiceClient().SetProperties(ctx, &service.SetPropertiesOptions{StaticWebsite: &service.StaticWebsite{Enabled: to.Ptr(true), IndexDocument: to.Ptr("index.html")}})
	must(t, err)
	props, err := c.ServiceClient().GetProperties(ctx, nil)
	must(t, err)
	if !*props.StaticWebsite.Enabled || *props.StaticWebsite.IndexDocument != "index.html" {
		t.Errorf("properties %+v", props.StaticWebsite)
	}
	for name, text := range map[string]string{"index.html": "hello", "openid/v1/jwks": "{}", "openid/index.html": "inner"} {
		_, err := c.UploadBuffer(ctx, "$web", name, []byte(text), nil)
		must(t, err)
	}
	for path, want := range map[string]string{"": "hello", "openid/v1/jwks": "{}", "openid/": "inner"} {
		if status, text := s.get(site + path); status != 200 || text != want {
			t.Errorf("%q: %d %q", path, status, text)
		}
	}
	if status, _ := s.get(site + "none"); status != http.StatusNotFound {
		t.Errorf("what is not there: %d", status)
	}
	if status, _ := s.get("https://acct.blob.core.windows.net/$web/index.html"); status != http.StatusConflict {
		t.Errorf("as a blob: %d", status)
	}
}

func TestBlobAuthorization(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	ctx := t.Context()
	shared := s.account("rg", "acct", false)
	_, err := shared.CreateContainer(ctx, "con", &container.CreateOptions{Access: to.Ptr(container.PublicAccessTypeContainer)})
	wantCode(t, err, 409, "PublicAccessNotPermitted")
	_, err = shared.CreateContainer(ctx, "con", nil)
	must(t, err)
	if status, _ := s.get("https://acct.blob.core.windows.net/con/x"); status != http.StatusConflict {
		t.Errorf("anonymous read without public access: %d", status)
	}
	wrong, err := azblob.NewSharedKeyCredential("acct", "d3Jvbmc=")
	must(t, err)
	forged, err := azblob.NewClientWithSharedKeyCredential("https://acct.blob.core.windows.net/", wrong, &azblob.ClientOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = forged.UploadBuffer(ctx, "con", "x", []byte("x"), nil)
	wantCode(t, err, 403, "AuthenticationFailed")
	bearer, err := azblob.NewClient("https://acct.blob.core.windows.net/", s.user(), &azblob.ClientOptions{ClientOptions: s.options()})
	must(t, err)
	_, err = bearer.UploadBuffer(ctx, "con", "x", []byte("x"), nil)
	wantCode(t, err, 403, "AuthorizationPermissionMismatch") // Contributor has no data actions

	must(t, s.assign("/subscriptions/"+subscription+"/resourceGroups/rg", blobDataContributor, clientID))
	_, err = bearer.UploadBuffer(ctx, "con", "x", []byte("x"), nil)
	must(t, err)
}
