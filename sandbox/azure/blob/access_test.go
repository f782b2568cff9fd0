package blob

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/storage"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

const (
	accountID = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/acct"
	tenant    = "22222222-2222-4222-8222-222222222222"
)

var accountKey = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// account has the containers con, of a public access level, and none.
func account(t testing.TB, public bool, level string) *Service {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	s, err := New(t.TempDir(), tenant, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(func(tx *store.Tx) error {
		id := strings.ToLower(accountID)
		tx.Put(store.ARM, id, Doc{"id": accountID, "type": storage.TypeAccount, "name": "acct", "properties": Doc{"allowBlobPublicAccess": public}})
		tx.Put(store.ARM, id+"/blobservices/default/containers/con", Doc{"id": accountID + "/blobServices/default/containers/con", "name": "con", "type": storage.TypeContainer, "properties": Doc{"publicAccess": level, "lastModifiedTime": "2026-01-02T03:04:05.0000000Z"}})
		tx.Put(store.StorageKeys, id, Doc{"key1": accountKey, "key2": storage.NewKey()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asked is what the service answers, with the code of its refusal.
func asked(s *Service, method, path string, query url.Values) (status int, code string) {
	r := httptest.NewRequest(method, "https://acct"+Suffix+path+"?"+query.Encode(), strings.NewReader("text"))
	r.Header.Set("x-ms-blob-type", "BlockBlob")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Header().Get("x-ms-error-code")
}

// right is a shared access signature of one blob, signed.
func right(s *Service, change func(url.Values)) url.Values {
	q := url.Values{"sv": {sasNewest}, "sr": {"b"}, "sp": {"rwc"}, "se": {time.Now().UTC().Add(time.Hour).Format(sasTimes[0])}}
	if change != nil {
		change(q)
	}
	c := &call{Service: s, name: "acct", container: "con", blob: "one"}
	key, _ := base64.StdEncoding.DecodeString(accountKey)
	text := c.serviceText(sas{Values: q})
	if q.Has("srt") {
		text = c.accountText(sas{Values: q})
	}
	q.Set("sig", sign(key, text))
	return q
}

func TestAnonymousReaders(t *testing.T) {
	const blob, list = "/con/one", "/con?restype=container&comp=list"
	for name, c := range map[string]struct {
		allowed      bool
		level        string
		method, what string
		want         int
	}{
		"a blob of a public container":          {true, "Container", http.MethodGet, blob, http.StatusOK},
		"a blob of public blobs":                {true, "Blob", http.MethodGet, blob, http.StatusOK},
		"the list of a public container":        {true, "Container", http.MethodGet, list, http.StatusOK},
		"the list of public blobs":              {true, "Blob", http.MethodGet, list, http.StatusNotFound},
		"a blob of a private container":         {true, "None", http.MethodGet, blob, http.StatusNotFound},
		"a blob of a container that is not":     {true, "Container", http.MethodGet, "/none/one", http.StatusNotFound},
		"the account says no":                   {false, "Container", http.MethodGet, blob, http.StatusConflict},
		"nobody writes without a name":          {true, "Container", http.MethodPut, "/con/two", http.StatusUnauthorized},
		"nobody deletes without a name":         {true, "Container", http.MethodDelete, blob, http.StatusUnauthorized},
		"nobody lists the containers":           {true, "Container", http.MethodGet, "/?comp=list", http.StatusUnauthorized},
		"who may see a container is not public": {true, "Container", http.MethodGet, "/con?restype=container&comp=acl", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			s := account(t, c.allowed, c.level)
			if status, code := asked(s, http.MethodPut, "/con/one", right(s, nil)); status != http.StatusCreated {
				t.Fatalf("writing the blob: %d %s", status, code)
			}
			path, query, _ := strings.Cut(c.what, "?")
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			if status, code := asked(s, c.method, path, values); status != c.want {
				t.Errorf("%d %s, want %d", status, code, c.want)
			}
		})
	}
}

func TestSignedRights(t *testing.T) {
	for name, c := range map[string]struct {
		change             func(url.Values)
		method, path, code string
	}{
		"to read":                 {func(q url.Values) { q.Set("sp", "r") }, http.MethodGet, "/con/one", ""},
		"to read is not to write": {func(q url.Values) { q.Set("sp", "r") }, http.MethodPut, "/con/one", "AuthorizationPermissionMismatch"},
		"to create what is there": {func(q url.Values) { q.Set("sp", "c") }, http.MethodPut, "/con/one", "AuthorizationPermissionMismatch"},
		"to create what is not":   {func(q url.Values) { q.Set("sp", "c"); q.Set("sr", "c") }, http.MethodPut, "/con/two", ""},
		"to write what is there":  {func(q url.Values) { q.Set("sp", "w") }, http.MethodPut, "/con/one", ""},
		"to write is not to read": {func(q url.Values) { q.Set("sp", "w") }, http.MethodGet, "/con/one", "AuthorizationPermissionMismatch"},
		"another blob":            {nil, http.MethodGet, "/con/two", "AuthenticationFailed"},
		"another container":       {nil, http.MethodGet, "/none/one", "AuthenticationFailed"},
		"over":                    {func(q url.Values) { q.Set("se", "2020-01-01") }, http.MethodGet, "/con/one", "AuthenticationFailed"},
		"not begun":               {func(q url.Values) { q.Set("st", "2100-01-01") }, http.MethodGet, "/con/one", "AuthenticationFailed"},
		"no end":                  {func(q url.Values) { q.Del("se") }, http.MethodGet, "/con/one", "AuthenticationFailed"},
		"a time that is none":     {func(q url.Values) { q.Set("se", "tomorrow") }, http.MethodGet, "/con/one", "AuthenticationFailed"},
		"a version to come":       {func(q url.Values) { q.Set("sv", "2099-01-01") }, http.MethodGet, "/con/one", "AuthenticationFailed"},
		"from this address":       {func(q url.Values) { q.Set("sip", "192.0.2.1") }, http.MethodGet, "/con/one", ""}, // where httptest's requests come from
		"from a range with it":    {func(q url.Values) { q.Set("sip", "192.0.2.0-192.0.2.1") }, http.MethodGet, "/con/one", ""},
		"from a range beside it":  {func(q url.Values) { q.Set("sip", "192.0.2.2-192.0.2.9") }, http.MethodGet, "/con/one", "AuthorizationSourceIPMismatch"},
		"from no address":         {func(q url.Values) { q.Set("sip", "here") }, http.MethodGet, "/con/one", "AuthenticationFailed"},
		"of a container":          {func(q url.Values) { q.Set("sr", "c") }, http.MethodGet, "/con/one", ""},
		"of the account, blobs":   {func(q url.Values) { q.Del("sr"); q.Set("ss", "b"); q.Set("srt", "o") }, http.MethodGet, "/con/one", ""},
		"of the account's queues": {func(q url.Values) { q.Del("sr"); q.Set("ss", "q"); q.Set("srt", "o") }, http.MethodGet, "/con/one", "AuthorizationServiceMismatch"},
		"of the account, its top": {func(q url.Values) { q.Del("sr"); q.Set("ss", "b"); q.Set("srt", "s") }, http.MethodGet, "/con/one", "AuthorizationResourceTypeMismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			s := account(t, false, "None")
			if status, code := asked(s, http.MethodPut, "/con/one", right(s, nil)); status != http.StatusCreated {
				t.Fatalf("writing the blob: %d %s", status, code)
			}
			if status, code := asked(s, c.method, c.path, right(s, c.change)); code != c.code {
				t.Errorf("%d %s, want %q", status, code, c.code)
			}
		})
	}
}

// Nothing that a signature signs can be changed by who holds it.
func TestSignaturesCannotBeStretched(t *testing.T) {
	s := account(t, false, "None")
	if status, code := asked(s, http.MethodPut, "/con/one", right(s, nil)); status != http.StatusCreated {
		t.Fatalf("writing the blob: %d %s", status, code)
	}
	values := map[string][]string{
		"sp": {"r", "rw", "rwdc", "racwdl"}, "se": {"2098-01-01", "2099-01-01"}, "st": {"", "2020-01-01", "2021-01-01"}, "sip": {"", "192.0.2.1", "0.0.0.0-255.255.255.255"},
		"spr": {"", "https", "https,http"}, "sv": {sasResource, sasEncryption, sasNewest}, "sr": {"b", "c"}, "rsct": {"", "text/html"}, "rscd": {"", "attachment"}, "ses": {"", "scope"},
	}
	names := []string{"sp", "se", "st", "sip", "spr", "sv", "sr", "rsct", "rscd", "ses"}
	rapid.Check(t, func(r *rapid.T) {
		given := right(s, func(q url.Values) {
			for _, n := range names {
				if v := rapid.SampledFrom(values[n]).Draw(r, n); v != "" {
					q.Set(n, v)
				}
			}
			if q.Get("sv") < sasEncryption {
				q.Del("ses") // that version does not know it
			}
		})
		if status, code := asked(s, http.MethodGet, "/con/one", given); status != http.StatusOK {
			r.Fatalf("%v as it was signed: %d %s", given, status, code)
		}
		stretched := url.Values{}
		for k, v := range given {
			stretched[k] = slices.Clone(v)
		}
		what := rapid.SampledFrom(append(names, "sig")).Draw(r, "changed")
		if what == "sig" {
			stretched.Set("sig", base64.StdEncoding.EncodeToString([]byte("another")))
		} else {
			to := rapid.SampledFrom(values[what]).Filter(func(v string) bool { return v != given.Get(what) }).Draw(r, "to")
			stretched.Set(what, to)
		}
		if what == "ses" && given.Get("sv") < sasEncryption {
			r.Skip("that version does not sign it")
		}
		if status, code := asked(s, http.MethodGet, "/con/one", stretched); status != http.StatusForbidden || code != "AuthenticationFailed" {
			r.Fatalf("%s changed from %q to %q: %d %s", what, given.Get(what), stretched.Get(what), status, code)
		}
	})
}
