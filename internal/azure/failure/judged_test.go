package failure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

func body(code string) string { return `{"error":{"code":"` + code + `","message":"as Azure says"}}` }

// What is absent counts as deleted and as free: a subscription that the credentials do not see is neither.
func TestAbsence(t *testing.T) {
	for _, tc := range []struct {
		status           int
		code             string
		absent, noParent bool
	}{
		{404, "ResourceNotFound", true, true}, {404, "ResourceGroupNotFound", true, true}, {404, "ParentResourceNotFound", true, true}, {404, "ContainerNotFound", true, false},
		{404, "BlobNotFound", true, false}, {404, "SubscriptionNotFound", false, false}, {403, "AuthorizationFailed", false, false}, {409, "ResourceGroupBeingDeleted", false, false},
		{400, "ResourceNotFound", false, false},
	} {
		err := fmt.Errorf("in a node: %w", Wrap("read", "/x", answered(tc.status, tc.code, body(tc.code))))
		if IsNotFound(err) != tc.absent || IsParentMissing(err) != tc.noParent {
			t.Errorf("%d %s: absent %v, without parent %v", tc.status, tc.code, IsNotFound(err), IsParentMissing(err))
		}
	}
	if IsNotFound(nil) || IsNotFound(errors.New("404")) {
		t.Error("any error is an absence")
	}
}

// Only Azure's own answer to the write of this resource says that nothing was made: every doubt keeps it on record.
func TestWhatIsRefusedWasNotMade(t *testing.T) {
	answer := func(method string, status int) error {
		request, _ := http.NewRequest(method, "https://management.azure.com/x", nil)
		return &azcore.ResponseError{StatusCode: status, ErrorCode: "X", RawResponse: &http.Response{StatusCode: status, Request: request, Header: http.Header{}, Body: http.NoBody}}
	}
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"a bad request", Wrap("create", "/X", answer(http.MethodPut, 400)), true}, {"a policy", Wrap("create", "/x", answer(http.MethodPut, 403)), true},
		{"throttled", Wrap("create", "/x", answer(http.MethodPut, 429)), false}, {"a conflict", Wrap("create", "/x", answer(http.MethodPut, 409)), false},
		{"a slow one", Wrap("create", "/x", answer(http.MethodPut, 408)), false}, {"down", Wrap("create", "/x", answer(http.MethodPut, 503)), false},
		{"the look after it", Wrap("create", "/x", answer(http.MethodGet, 404)), false}, {"of another resource", Wrap("create", "/y", answer(http.MethodPut, 403)), false},
		{"an operation that failed later", Wrap("create", "/x", answer(http.MethodPut, 200)), false}, {"no answer", Wrap("create", "/x", &net.OpError{Op: "dial", Err: errors.New("x")}), false},
		{"no request", Wrap("create", "/x", &azcore.ResponseError{StatusCode: 403}), false}, {"nothing", nil, false},
	} {
		if got := IsRefused(tc.err, "/x"); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// What passes by itself is tried again, and what needs a person is not.
func TestKinds(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want Kind
	}{
		{answered(429, "", `{}`), Waiting}, {answered(429, "SubscriptionRequestsThrottled", body("SubscriptionRequestsThrottled")), Waiting}, {answered(500, "", ``), Transient}, {answered(502, "", `<html>`), Transient},
		{answered(504, "GatewayTimeout", body("GatewayTimeout")), Transient}, {answered(409, "Conflict", body("Conflict")), Transient}, {answered(409, "AnotherOperationInProgress", body("AnotherOperationInProgress")), Waiting},
		{answered(409, "ResourceGroupBeingDeleted", body("ResourceGroupBeingDeleted")), Waiting}, {answered(409, "StorageAccountAlreadyTaken", body("StorageAccountAlreadyTaken")), Terminal}, {answered(403, "ScopeLocked", body("ScopeLocked")), Terminal},
		{answered(400, "Unheard", body("Unheard")), Terminal}, {context.Canceled, Terminal}, {fmt.Errorf("x: %w", context.DeadlineExceeded), Terminal}, {&net.OpError{Op: "read", Err: errors.New("reset")}, Transient},
		{errors.New("anything"), Terminal},
	} {
		if got := KindOf(Wrap("create", "/x", tc.err)); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.err, got, tc.want)
		}
	}
	if Wrap("create", "/x", nil) != nil || KindOf(errors.New("x")) != Terminal || CodeOf(nil) != "" {
		t.Error("without an error of Azure")
	}
	first := Wrap("create", "/x", answered(403, "ScopeLocked", body("ScopeLocked")))
	if again := Wrap("delete", "/y", fmt.Errorf("outer: %w", first)); CodeOf(again) != "ScopeLocked" || strings.Contains(again.Error(), "/y") {
		t.Errorf("an error is explained twice: %v", again)
	}
}

// An answer without a word says what can be said: a refusal by its status, an operation that failed by that.
func TestAnAnswerWithoutAWord(t *testing.T) {
	for status, want := range map[int]string{200: "its operation has failed", 201: "its operation has failed", 418: "Azure answered 418", 500: "Azure answered 500"} {
		if err := Wrap("create", "/x", answered(status, "", "")); !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "()") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A refusal that passes keeps what Azure said, and is waited for; another error stays what it is.
func TestSpreadingKeepsItsCause(t *testing.T) {
	refused := Wrap("create", "/x", answered(403, "AuthorizationFailed", body("AuthorizationFailed")))
	passing := Spreading(refused, "the role is new")
	if KindOf(passing) != Waiting || KindOf(refused) != Terminal || CodeOf(passing) != "AuthorizationFailed" || !errors.Is(passing, refused) || !strings.Contains(passing.Error(), "the role is new") {
		t.Errorf("%v", passing)
	}
	if plain := errors.New("x"); !errors.Is(Spreading(plain, "y"), plain) {
		t.Error("another error is changed")
	}
}

// Nobody has answered where the network fails; an interruption and an answer are something else.
func TestWhoHasNotAnswered(t *testing.T) {
	unknown := Wrap("read", "/x", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}})
	if !IsUnanswered(unknown) || !IsUnresolved(unknown) {
		t.Errorf("a host that is not known: %v", unknown)
	}
	slow := Wrap("read", "/x", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}})
	if !IsUnanswered(slow) || IsUnresolved(slow) {
		t.Errorf("a name server that is slow: %v", slow)
	}
	for _, err := range []error{answered(503, "", ""), context.Canceled, errors.New("x")} {
		if IsUnanswered(Wrap("read", "/x", err)) || IsSignIn(err) {
			t.Errorf("%v counts as no answer", err)
		}
	}
}

// Every entry says what to do; a field where something has to be looked at; and nothing of ours where a command of Azure's is meant.
func TestTheDictionaryIsWhole(t *testing.T) {
	page, err := Markdown()
	if err != nil {
		t.Fatal(err)
	}
	for code, e := range dictionary {
		if e.remedy == "" || e.kind == "" || e.kind == Terminal && e.field == "" {
			t.Errorf("%s: %+v", code, e)
		}
		if e.kind != Terminal && strings.HasPrefix(e.remedy, "grant") && code != "AuthorizationPermissionMismatch" {
			t.Errorf("%s waits for what a person has to do: %s", code, e.remedy)
		}
		if strings.Count(page, "| `"+code+"` |") != 1 {
			t.Errorf("%s is not on the page once", code)
		}
		if familyOf(code+"Of") == code != (code == "ConcurrentFederatedIdentityCredentialsWrites" || code == "InvalidTemplate") {
			t.Errorf("%s stands for a family: %v", code, familyOf(code+"Of"))
		}
	}
}
