package access

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// logged are the lines of a log.
func logged(t *testing.T, dir string) []Entry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "access.log"))
	if err != nil {
		t.Fatal(err)
	}
	var out []Entry
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		out = append(out, e)
	}
	return out
}

func open(t *testing.T, dir string) *Log {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Every request has a line with what its handlers told of it, whatever becomes of it.
func TestRequestsAreLogged(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	send := func(address string, h http.HandlerFunc) {
		r := httptest.NewRequest(http.MethodPut, address, http.NoBody)
		r.Header.Set("User-Agent", "azsdk-go")
		defer func() { _ = recover() }() // as the server of net/http does
		l.Wrap("arm", h).ServeHTTP(httptest.NewRecorder(), r)
	}
	send("https://management.azure.com/a?b=c", func(w http.ResponseWriter, r *http.Request) {
		SetPrincipal(r.Context(), "me")
		AddFault(r.Context(), "f1")
		AddFault(r.Context(), "f2")
		AddViolation(r.Context(), Violation{Side: SideRequest, Type: "t", Problem: "p"})
		w.WriteHeader(http.StatusConflict)
	})
	send("https://h/silent", func(http.ResponseWriter, *http.Request) {})
	send("https://h/body", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) })
	send("https://h/reset", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	send("https://h/signed?sp=r&sig=abc%2Fdef&se=x", func(http.ResponseWriter, *http.Request) {})
	got := logged(t, dir)
	if len(got) != 5 {
		t.Fatalf("%d lines, want 5", len(got))
	}
	first := got[0]
	if first.Plane != "arm" || first.Method != http.MethodPut || first.URL != "https://management.azure.com/a?b=c" || first.Status != 409 ||
		first.UserAgent != "azsdk-go" || first.Principal != "me" ||
		strings.Join(first.Faults, " ") != "f1 f2" || len(first.Violations) != 1 || first.Violations[0].Problem != "p" || first.Time.IsZero() {
		t.Errorf("%+v", first)
	}
	for i, status := range []int{409, 200, 200, 0, 200} {
		if got[i].Status != status {
			t.Errorf("%s: status %d, want %d", got[i].URL, got[i].Status, status)
		}
	}
	if url := got[4].URL; strings.Contains(url, "abc") || !strings.Contains(url, "sig=REDACTED") || !strings.Contains(url, "sp=r") ||
		!strings.Contains(url, "se=x") {
		t.Errorf("who reads the log reads the signature: %s", url)
	}
	if got[1].Principal != "" || got[1].Faults != nil {
		t.Errorf("what is told of one request is told of another: %+v", got[1])
	}
	SetPrincipal(httptest.NewRequest(http.MethodGet, "https://h/", nil).Context(), "nobody") // without a log there is nothing to note
}

// The log goes on after a restart, and is renamed when it is large.
func TestLogIsKept(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	first.Write(Entry{Plane: "one"})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir)
	l.Write(Entry{Plane: "two"})
	if got := logged(t, dir); len(got) != 2 || got[0].Plane != "one" || got[1].Plane != "two" {
		t.Errorf("after a restart: %+v", got)
	}
	l.size = rotateAbove
	l.Write(Entry{Plane: "three"})
	l.Write(Entry{Plane: "four"})
	if got := logged(t, dir); len(got) != 1 || got[0].Plane != "four" {
		t.Errorf("after the change: %+v", got)
	}
	old, err := os.ReadFile(filepath.Join(dir, "access.log.1"))
	if err != nil || strings.Count(string(old), "\n") != 3 {
		t.Errorf("the former log: %q, %v", old, err)
	}
	if _, err := Open(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is opened")
	}
}

// The user agents are those that the clients send.
func TestClients(t *testing.T) {
	for agent, client := range map[string]string{
		"hypershift/v1 azsdk-go-armresources/v1.2.0 (go1.26; linux)":                      "hypershift",
		"cluster-api-provider-azure/v1.21.0 azsdk-go-armcompute/v5":                       "cluster-api-provider-azure",
		"aso-controller/v2.13.0 azsdk-go-generic/v1":                                      "azure-service-operator",
		"kubernetes-cloudprovider/v1.34.0 azsdk-go-armnetwork/v6":                         "cloud-provider-azure",
		"ExternalDNS/v0.18 azsdk-go-armdns/v1":                                            "external-dns",
		"AZURECLI/2.80.0 (DEB) azsdk-python-core/1.35.0 Python/3.13.7 (Linux-6.1-x86_64)": "az",
		"azsdk-go-armauthorization/v2.2.0 (go1.26; linux)":                                "azure-sdk-for-go",
		"azsdk-python-azure-mgmt-resource/23 Python/3.13":                                 "azure-sdk-for-python",
		"Go-http-client/2.0": ClientUnknown, "": ClientUnknown,
	} {
		if got := ClientOf(agent); got != client {
			t.Errorf("%q is %s, want %s", agent, got, client)
		}
	}
}
