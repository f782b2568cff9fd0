package keyvault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// vault is a vault named keeper behind the door where tokens are checked; more are properties of it.
func vault(t *testing.T, more Doc) *Service {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	err = st.Update(func(tx *store.Tx) error {
		for _, name := range []string{"Keeper", "other"} {
			tx.Put(store.ARM, name, Doc{"id": "/" + name, "name": name, "type": typeVault, "location": "westeurope", "properties": more})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return New("t", st, nil)
}

// ask sends a request to a vault and answers the status, the code and the inner code of a refusal.
func ask(t *testing.T, s *Service, name, method, path, body string) (status int, code string, doc Doc) {
	t.Helper()
	c := &call{Service: s, w: httptest.NewRecorder(), vaultName: name, body: Doc{}}
	c.req = httptest.NewRequest(method, "https://"+name+Suffix+path+"?api-version=7.4", http.NoBody)
	op, err := c.route()
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &c.body); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	var out *reply
	err = s.store.Update(func(tx *store.Tx) error {
		c.tx = tx
		c.vault = c.findVault()
		var err error
		out, err = op.run(c)
		return err
	})
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status, strings.TrimSuffix(refused.Code+" "+refused.Inner, " "), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, _ = out.body.(Doc)
	return out.status, "", doc
}

func want(t *testing.T, s *Service, method, path, body string, status int, code string) Doc {
	t.Helper()
	got, gotCode, doc := ask(t, s, "keeper", method, path, body)
	if got != status || gotCode != code {
		t.Errorf("%s %s %s: %d %s, want %d %s", method, path, body, got, gotCode, status, code)
	}
	return doc
}

// versionOf is the version of a key or secret that was just answered.
func versionOf(d Doc) string {
	id := wire.Text(d, "id")
	if id == "" {
		id = wire.Text(wire.Sub(d, "key"), "kid")
	}
	return id[strings.LastIndex(id, "/")+1:]
}

const rsaKey = `{"kty":"RSA"}`

// Keys: https://learn.microsoft.com/rest/api/keyvault/keys/create-key/create-key.
func TestKeysThatAzureRefuses(t *testing.T) {
	s := vault(t, nil)
	for _, name := range []string{"a_b", "a.b", "ä", strings.Repeat("k", 128)} {
		want(t, s, http.MethodPost, "/keys/"+name+"/create", rsaKey, 400, "BadParameter")
	}
	for _, body := range []string{`{}`, `{"kty":"EC"}`, `{"kty":"RSA","key_size":1024}`, `{"kty":"RSA","key_size":2049}`} {
		want(t, s, http.MethodPost, "/keys/k/create", body, 400, "BadParameter")
	}
	want(t, s, http.MethodPost, "/keys/"+strings.Repeat("k", 127)+"/create", rsaKey, 200, "")
	for _, path := range []string{"/keys/k", "/keys/k/" + version, "/deletedkeys/k"} {
		want(t, s, http.MethodGet, path, "", 404, "KeyNotFound")
	}
	for _, path := range []string{"/keys/k/encrypt", "/keys/k/rotate", "/deletedkeys/k/recover"} {
		want(t, s, http.MethodPost, path, `{"alg":"RSA-OAEP","value":"AA"}`, 404, "KeyNotFound")
	}
	want(t, s, http.MethodDelete, "/keys/k", "", 404, "KeyNotFound")
	want(t, s, http.MethodDelete, "/deletedkeys/k", "", 404, "KeyNotFound")
	want(t, s, http.MethodPatch, "/keys/k", `{}`, 404, "KeyNotFound")
}

func TestVersionsOfKeys(t *testing.T) {
	s := vault(t, nil)
	first := want(t, s, http.MethodPost, "/keys/Etcd/create",
		`{"kty":"RSA","key_ops":["encrypt","decrypt"],"tags":{"a":"b"},"attributes":{"exp":4102444800}}`, 200, "")
	second := want(t, s, http.MethodPost, "/keys/etcd/rotate", "", 200, "")
	one, two := versionOf(first), versionOf(second)
	if one == two || fmt.Sprint(wire.Sub(second, "key")["key_ops"]) != "[encrypt decrypt]" || fmt.Sprint(second["tags"]) != "map[a:b]" ||
		wire.Sub(second, "key")["n"] == wire.Sub(first, "key")["n"] {
		t.Errorf("a rotation of %v makes %v", first, second)
	}
	if id := wire.Text(wire.Sub(first, "key"), "kid"); id != "https://keeper.vault.azure.net/keys/Etcd/"+one {
		t.Errorf("the id of a key is %s", id)
	}
	if text, _ := json.Marshal(first); strings.Contains(string(text), `"private"`) || strings.Contains(string(text), `"d"`) {
		t.Errorf("a key shows its private half: %s", text)
	}
	for path, version := range map[string]string{"/keys/ETCD": two, "/keys/etcd/" + one: one, "/keys/etcd/" + strings.ToUpper(one): one} {
		if got := versionOf(want(t, s, http.MethodGet, path, "", 200, "")); got != version {
			t.Errorf("%s is %s, want %s", path, got, version)
		}
	}
	want(t, s, http.MethodPost, "/keys/etcd2/create", rsaKey, 200, "")
	if list := wire.Docs(want(t, s, http.MethodGet, "/keys", "", 200, ""), "value"); len(list) != 2 ||
		!strings.HasSuffix(strings.ToLower(wire.Text(list[0], "kid")), "/keys/etcd") {
		t.Errorf("keys: %v", list)
	}
	if list := wire.Docs(want(t, s, http.MethodGet, "/keys/etcd/versions", "", 200, ""), "value"); len(list) != 2 {
		t.Errorf("versions: %v", list)
	}
	if _, _, d := ask(t, s, "other", http.MethodGet, "/keys", ""); len(wire.List(d, "value")) != 0 {
		t.Errorf("another vault has %v", d)
	}
}

// What a key may do, and when: https://learn.microsoft.com/azure/key-vault/keys/about-keys-details#key-access-control.
func TestWhatAKeyMayDo(t *testing.T) {
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	s := vault(t, nil)
	want(t, s, http.MethodPost, "/keys/k/create", rsaKey, 200, "")
	sealed := wire.Text(want(t, s, http.MethodPost, "/keys/k/encrypt", `{"alg":"RSA-OAEP-256","value":"c2VjcmV0"}`, 200, ""), "value")
	all := `"key_ops":["encrypt","decrypt","wrapKey","unwrapKey"]`
	for name, c := range map[string]struct {
		change, seals, opens string
	}{
		"as it was made":        {`{` + all + `}`, "", ""},
		"disabled":              {`{"attributes":{"enabled":false}}`, "Forbidden KeyDisabled", "Forbidden KeyDisabled"},
		"enabled again":         {`{"attributes":{"enabled":true}}`, "", ""},
		"not yet valid":         {fmt.Sprintf(`{"attributes":{"nbf":%d}}`, future), "Forbidden KeyNotYetValid", ""},
		"valid by now":          {fmt.Sprintf(`{"attributes":{"nbf":%d}}`, past), "", ""},
		"expired":               {fmt.Sprintf(`{"attributes":{"nbf":null,"exp":%d}}`, past), "Forbidden KeyExpired", ""},
		"not expired":           {fmt.Sprintf(`{"attributes":{"exp":%d}}`, future), "", ""},
		"to open alone":         {`{"key_ops":["decrypt","unwrapKey"],"attributes":{"exp":null}}`, "Forbidden KeyOperationForbidden", ""},
		"to seal alone":         {`{"key_ops":["encrypt","wrapKey"]}`, "", "Forbidden KeyOperationForbidden"},
		"nothing":               {`{"key_ops":[]}`, "Forbidden KeyOperationForbidden", "Forbidden KeyOperationForbidden"},
		"expired, and disabled": {fmt.Sprintf(`{%s,"attributes":{"enabled":false,"exp":%d}}`, all, past), "Forbidden KeyDisabled", "Forbidden KeyDisabled"},
	} {
		want(t, s, http.MethodPatch, "/keys/k", `{`+all+`,"attributes":{"enabled":true,"nbf":null,"exp":null}}`, 200, "")
		want(t, s, http.MethodPatch, "/keys/k", c.change, 200, "")
		for _, op := range [][3]string{{"encrypt", "c2VjcmV0", c.seals}, {"wrapkey", "c2VjcmV0", c.seals}, {"decrypt", sealed, c.opens},
			{"unwrapkey", sealed, c.opens}} {
			if _, code, _ := ask(t, s, "keeper", http.MethodPost, "/keys/k/"+op[0], `{"alg":"RSA-OAEP-256","value":"`+op[1]+`"}`); code != op[2] {
				t.Errorf("%s, %s: %q, want %q", name, op[0], code, op[2])
			}
		}
	}
}

// What goes in comes out, by each algorithm; nothing else does.
func TestSealedValues(t *testing.T) {
	s := vault(t, nil)
	want(t, s, http.MethodPost, "/keys/k/create", rsaKey, 200, "")
	want(t, s, http.MethodPost, "/keys/l/create", rsaKey, 200, "")
	algorithms := []string{"RSA-OAEP-256", "RSA-OAEP", "RSA1_5"}
	body := func(algorithm, value string) string { return `{"alg":"` + algorithm + `","value":"` + value + `"}` }
	for i, algorithm := range algorithms {
		sealed := wire.Text(want(t, s, http.MethodPost, "/keys/k/wrapkey", body(algorithm, "c2VjcmV0"), 200, ""), "value")
		if again := wire.Text(want(t, s, http.MethodPost, "/keys/k/wrapkey", body(algorithm, "c2VjcmV0"), 200, ""), "value"); again == sealed {
			t.Errorf("%s seals a value twice alike", algorithm)
		}
		if got := wire.Text(want(t, s, http.MethodPost, "/keys/k/unwrapkey", body(algorithm, sealed), 200, ""), "value"); got != "c2VjcmV0" {
			t.Errorf("%s: %s", algorithm, got)
		}
		want(t, s, http.MethodPost, "/keys/l/unwrapkey", body(algorithm, sealed), 400, "BadParameter")
		want(t, s, http.MethodPost, "/keys/k/unwrapkey", body(algorithms[(i+1)%3], sealed), 400, "BadParameter")
		want(t, s, http.MethodPost, "/keys/k/unwrapkey", body(algorithm, "AAAA"), 400, "BadParameter")
	}
	for _, wrong := range []string{body("A256GCM", "AA"), body("", "AA"), body("RSA-OAEP", ""), body("RSA-OAEP", "+/+/"),
		body("RSA-OAEP", strings.Repeat("A", 400))} {
		want(t, s, http.MethodPost, "/keys/k/encrypt", wrong, 400, "BadParameter")
	}
	// A version opens what it has sealed, and no other one does.
	sealed := want(t, s, http.MethodPost, "/keys/k/encrypt", body("RSA-OAEP", "c2VjcmV0"), 200, "")
	used := wire.Text(sealed, "kid")
	want(t, s, http.MethodPost, "/keys/k/rotate", "", 200, "")
	want(t, s, http.MethodPost, "/keys/k/decrypt", body("RSA-OAEP", wire.Text(sealed, "value")), 400, "BadParameter")
	want(t, s, http.MethodPost, "/keys/k/"+used[strings.LastIndex(used, "/")+1:]+"/decrypt", body("RSA-OAEP", wire.Text(sealed, "value")), 200, "")
}

// A secret's time is told and not enforced: https://learn.microsoft.com/azure/key-vault/secrets/about-secrets#date-time-controlled-operations.
func TestSecrets(t *testing.T) {
	s := vault(t, nil)
	for _, body := range []string{`{}`, `{"value":7}`, `{"value":"` + strings.Repeat("x", longestSecret+1) + `"}`} {
		want(t, s, http.MethodPut, "/secrets/token", body, 400, "BadParameter")
	}
	want(t, s, http.MethodPut, "/secrets/to_ken", `{"value":"x"}`, 400, "BadParameter")
	want(t, s, http.MethodPut, "/secrets/empty", `{"value":""}`, 200, "")
	want(t, s, http.MethodPut, "/secrets/long", `{"value":"`+strings.Repeat("x", longestSecret)+`"}`, 200, "")
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for _, times := range []string{fmt.Sprintf(`"nbf":%d`, future), fmt.Sprintf(`"exp":%d`, past)} {
		want(t, s, http.MethodPut, "/secrets/timed", `{"value":"x","attributes":{`+times+`}}`, 200, "")
		if got := want(t, s, http.MethodGet, "/secrets/timed", "", 200, ""); got["value"] != "x" {
			t.Errorf("%s: %v", times, got)
		}
	}
	first := want(t, s, http.MethodPut, "/secrets/token", `{"value":"one","contentType":"text/plain","tags":{"a":"b"}}`, 200, "")
	want(t, s, http.MethodPut, "/secrets/token", `{"value":"two"}`, 200, "")
	old := "/secrets/token/" + versionOf(first)
	changed := want(t, s, http.MethodPatch, old, `{"tags":{"c":"d"},"attributes":{"enabled":false}}`, 200, "")
	if _, told := changed["value"]; told || changed["contentType"] != "text/plain" || fmt.Sprint(changed["tags"]) != "map[c:d]" {
		t.Errorf("a change answers %v", changed)
	}
	want(t, s, http.MethodGet, old, "", 403, "Forbidden SecretDisabled")
	if got := want(t, s, http.MethodGet, "/secrets/token", "", 200, ""); got["value"] != "two" || got["contentType"] != nil {
		t.Errorf("the newest version: %v", got)
	}
	for _, path := range []string{"/secrets", "/secrets/token/versions"} {
		if text, _ := json.Marshal(want(t, s, http.MethodGet, path, "", 200, "")); strings.Contains(string(text), `"value":"`) {
			t.Errorf("%s tells what secrets are: %s", path, text)
		}
	}
}

// Deleted keys and secrets hold their names until they are purged, which a vault can forbid:
// https://learn.microsoft.com/azure/key-vault/general/soft-delete-overview.
func TestDeletedKeysAndSecrets(t *testing.T) {
	for _, protected := range []bool{false, true} {
		s := vault(t, Doc{"enablePurgeProtection": protected})
		for kind, write := range map[string]func(status int, code string){
			"keys":    func(status int, code string) { want(t, s, http.MethodPost, "/keys/x/create", rsaKey, status, code) },
			"secrets": func(status int, code string) { want(t, s, http.MethodPut, "/secrets/x", `{"value":"v"}`, status, code) },
		} {
			missing := map[string]string{"keys": "KeyNotFound", "secrets": "SecretNotFound"}[kind]
			write(200, "")
			write(200, "")
			gone := want(t, s, http.MethodDelete, "/"+kind+"/x", "", 200, "")
			level := map[bool]string{false: "Recoverable+Purgeable", true: "Recoverable"}[protected]
			if gone["recoveryId"] != "https://keeper.vault.azure.net/deleted"+kind+"/x" || wire.Sub(gone, "attributes")["recoveryLevel"] != level ||
				gone["scheduledPurgeDate"].(int64)-gone["deletedDate"].(int64) < 89*24*3600 {
				t.Errorf("deleted: %v", gone)
			}
			want(t, s, http.MethodGet, "/"+kind+"/x", "", 404, missing)
			want(t, s, http.MethodDelete, "/"+kind+"/x", "", 404, missing)
			write(409, "Conflict")
			if list := wire.Docs(want(t, s, http.MethodGet, "/"+kind, "", 200, ""), "value"); len(list) != 0 {
				t.Errorf("listed: %v", list)
			}
			if list := wire.Docs(want(t, s, http.MethodGet, "/deleted"+kind, "", 200, ""), "value"); len(list) != 1 {
				t.Errorf("deleted: %v", list)
			}
			want(t, s, http.MethodGet, "/deleted"+kind+"/X", "", 200, "")
			want(t, s, http.MethodPost, "/deleted"+kind+"/x/recover", "", 200, "")
			if list := wire.Docs(want(t, s, http.MethodGet, "/"+kind+"/x/versions", "", 200, ""), "value"); len(list) != 2 {
				t.Errorf("versions that are back: %v", list)
			}
			want(t, s, http.MethodPost, "/deleted"+kind+"/x/recover", "", 404, missing)
			want(t, s, http.MethodDelete, "/"+kind+"/x", "", 200, "")
			if protected {
				want(t, s, http.MethodDelete, "/deleted"+kind+"/x", "", 403, "Forbidden")
				write(409, "Conflict")
				continue
			}
			want(t, s, http.MethodDelete, "/deleted"+kind+"/x", "", 204, "")
			want(t, s, http.MethodGet, "/deleted"+kind+"/x", "", 404, missing)
			write(200, "")
		}
	}
}
