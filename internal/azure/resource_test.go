package azure

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

const (
	apiAny   = "2023-11-01"
	anyGroup = "/subscriptions/" + uuidB + "/resourceGroups/g"
	anyNSG   = anyGroup + "/providers/Microsoft.Network/networkSecurityGroups/n"
)

// said is an answer of Azure's.
type said struct {
	status int
	header map[string]string
	body   string
}

// scripted is a session to which Azure gives the answers in their order, and what it was asked.
func scripted(t *testing.T, answers ...said) (*Session, *[]string) {
	t.Helper()
	var asked []string
	answer := transport(func(r *http.Request) *http.Response {
		var body []byte
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		asked = append(asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("If-Match")+r.Header.Get("If-None-Match")+" "+string(body)))
		w := httptest.NewRecorder()
		if len(asked) > len(answers) {
			t.Errorf("asked once more: %s", asked[len(asked)-1])
			w.WriteHeader(http.StatusTeapot)
		} else {
			a := answers[len(asked)-1]
			for key, value := range a.header {
				w.Header().Set(key, value)
			}
			w.WriteHeader(a.status)
			_, _ = w.WriteString(a.body)
		}
		out := w.Result()
		out.Request = r
		return out
	})
	options := policy.ClientOptions{Transport: answer, Retry: policy.RetryOptions{RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond}}
	client, err := arm.NewClient("test", "v1.0.0", signedIn("{}"), &arm.ClientOptions{ClientOptions: options})
	if err != nil {
		t.Fatal(err)
	}
	return &Session{Credentials: Credentials{SubscriptionID: uuidB, TenantID: uuidA}, credential: signedIn(`{"oid":"` + uuidA + `"}`), arm: client}, &asked
}

const operation = "https://management.azure.com/subscriptions/" + uuidB + "/providers/Microsoft.Network/operations/o"

// A write is done when Azure says that its operation is; an operation that fails after it was accepted is an error with its own words.
func TestAWriteEndsWithItsOperation(t *testing.T) {
	accepted := said{http.StatusCreated, map[string]string{"Azure-AsyncOperation": operation, "Retry-After": "0"}, `{"properties":{"provisioningState":"Updating"}}`}
	done := said{http.StatusOK, nil, `{"status":"Succeeded"}`}
	stands := said{http.StatusOK, nil, `{"name":"n","properties":{"provisioningState":"Succeeded"}}`}
	for _, tc := range []struct {
		name    string
		answers []said
		away    bool
		calls   int
		code    string
		says    string
	}{
		{name: "at once", answers: []said{stands}, calls: 1},
		{name: "an operation", answers: []said{accepted, {http.StatusOK, nil, `{"status":"InProgress"}`}, done, stands}, calls: 4},
		{name: "an operation, and nobody needs the result", answers: []said{accepted, done}, away: true, calls: 2},
		{name: "one that fails", answers: []said{accepted, {http.StatusOK, nil, `{"status":"Failed","error":{"code":"QuotaExceeded","message":"Current Limit: 1, Current Usage: 1, Additional Required: 1"}}`}},
			calls: 2, code: "QuotaExceeded", says: "expected 1 to be free"},
		{name: "one that Azure gives up without a word", answers: []said{{http.StatusOK, nil, `{"properties":{"provisioningState":"Failed"}}`}}, calls: 1, says: "its operation has failed"},
		{name: "a refusal", answers: []said{{http.StatusForbidden, nil, `{"error":{"code":"ScopeLocked","message":"locked"}}`}}, calls: 1, code: "ScopeLocked", says: "az lock delete"},
		{name: "throttled, then well", answers: []said{{http.StatusTooManyRequests, map[string]string{"Retry-After-Ms": "1"}, `{}`}, stands}, calls: 2},
		{name: "down, then well", answers: []said{{http.StatusServiceUnavailable, nil, `{}`}, {http.StatusBadGateway, nil, `<html>`}, stands}, calls: 3},
	} {
		s, asked := scripted(t, tc.answers...)
		var err error
		if tc.away {
			err = s.PutAway(t.Context(), anyNSG, apiAny, Resource{Location: "eastus"})
		} else {
			var made *Resource
			if made, err = s.Put(t.Context(), anyNSG, apiAny, Resource{ID: "theirs", Name: "theirs", Type: "theirs", ETag: "theirs", Location: "eastus"}); err == nil && made.Name != "n" {
				t.Errorf("%s: %+v", tc.name, made)
			}
		}
		if len(*asked) != tc.calls || !strings.HasSuffix((*asked)[0], `{"location":"eastus"}`) {
			t.Errorf("%s: asked %q", tc.name, *asked)
		}
		if (err != nil) != (tc.says != "") || failure.CodeOf(err) != tc.code || err != nil && (!strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), anyNSG)) {
			t.Errorf("%s: error %v", tc.name, err)
		}
	}
}

// What is absent is deleted, also where its group is; a deletion that Azure refuses, or that fails, is an error.
func TestADeletionOfWhatIsAbsent(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []said
		code    string // "" is success
	}{
		{"there", []said{{http.StatusOK, nil, ""}}, ""},
		{"absent", []said{{http.StatusNoContent, nil, ""}}, ""},
		{"absent, as some providers say it", []said{{http.StatusNotFound, nil, `{"error":{"code":"ResourceNotFound","message":"x"}}`}}, ""},
		{"in a group that is gone", []said{{http.StatusNotFound, nil, `{"error":{"code":"ResourceGroupNotFound","message":"x"}}`}}, ""},
		{"gone while it was deleted", []said{{http.StatusAccepted, map[string]string{"Azure-AsyncOperation": operation, "Retry-After": "0"}, ""}, {http.StatusOK, nil, `{"status":"Succeeded"}`}}, ""},
		{"locked", []said{{http.StatusConflict, nil, `{"error":{"code":"ScopeLocked","message":"x"}}`}}, "ScopeLocked"},
		{"in use", []said{{http.StatusBadRequest, nil, `{"error":{"code":"InUseSubnetCannotBeDeleted","message":"Subnet default is in use by nic"}}`}}, "InUseSubnetCannotBeDeleted"},
		{"a failing operation", []said{{http.StatusAccepted, map[string]string{"Azure-AsyncOperation": operation, "Retry-After": "0"}, ""},
			{http.StatusOK, nil, `{"status":"Failed","error":{"code":"InternalServerError","message":"x"}}`}}, "InternalServerError"},
	} {
		s, asked := scripted(t, tc.answers...)
		err := s.Delete(t.Context(), anyNSG, apiAny)
		if failure.CodeOf(err) != tc.code || (err == nil) != (tc.code == "") || len(*asked) != len(tc.answers) {
			t.Errorf("%s: %v, asked %q", tc.name, err, *asked)
		}
	}
}

// A write under a condition says so to Azure, is not repeated when its answer is lost, and a condition that does not hold is known.
func TestConditions(t *testing.T) {
	changed := said{http.StatusPreconditionFailed, nil, `{"error":{"code":"PreconditionFailed","message":"x"}}`}
	well := said{http.StatusOK, nil, `{}`}
	for _, tc := range []struct {
		etag, condition string
		answer          said
		changed         bool
	}{{`W/"1"`, `W/"1"`, well, false}, {"", "*", well, false}, {`W/"1"`, `W/"1"`, changed, true}} {
		s, asked := scripted(t, tc.answer)
		_, err := s.PutIf(t.Context(), anyNSG, apiAny, tc.etag, Resource{})
		if IsChanged(err) != tc.changed || (err != nil) != tc.changed || !strings.HasPrefix((*asked)[0], "PUT "+anyNSG+" "+tc.condition) {
			t.Errorf("%q: %v, asked %q", tc.etag, err, *asked)
		}
	}
	s, asked := scripted(t, said{http.StatusServiceUnavailable, nil, `{}`})
	if _, err := s.PutIf(t.Context(), anyNSG, apiAny, `W/"1"`, Resource{}); failure.KindOf(err) != failure.Transient || len(*asked) != 1 {
		t.Errorf("a lost answer: %v, asked %q", err, *asked)
	}
	s, _ = scripted(t, changed)
	if err := s.DeleteIf(t.Context(), anyNSG, apiAny, `W/"1"`); !IsChanged(err) {
		t.Errorf("a deletion of what has changed: %v", err)
	}
	s, asked = scripted(t, well)
	if err := s.Patch(t.Context(), anyNSG, apiAny, Resource{Properties: map[string]any{"a": true}}); err != nil || (*asked)[0] != "PATCH "+anyNSG+`  {"properties":{"a":true}}` {
		t.Errorf("a change: %v, asked %q", err, *asked)
	}
	if IsChanged(nil) || IsChanged(errors.New("x")) {
		t.Error("any error is a changed resource")
	}
}

// An id that somebody else has recorded may lead elsewhere than it reads: nothing is written there, and Azure is not even asked.
func TestIDsThatLeadElsewhere(t *testing.T) {
	for _, id := range []string{anyNSG + "?x=1", anyNSG + "#a", anyGroup + "/../h", anyGroup + "%2f..", anyGroup + "//a", anyGroup + `\a`, anyGroup + "/.."} {
		s, asked := scripted(t)
		_, putErr := s.Put(t.Context(), id, apiAny, Resource{})
		_, ifErr := s.PutIf(t.Context(), id, apiAny, "e", Resource{})
		for what, err := range map[string]error{"put": putErr, "put if": ifErr, "put away": s.PutAway(t.Context(), id, apiAny, Resource{}), "patch": s.Patch(t.Context(), id, apiAny, Resource{}),
			"delete": s.Delete(t.Context(), id, apiAny), "unassign": s.Unassign(t.Context(), Assignment{Scope: id, Name: uuidA})} {
			if err == nil || !strings.Contains(err.Error(), "not the id of a resource") {
				t.Errorf("%s %s: %v", what, id, err)
			}
		}
		if len(*asked) != 0 {
			t.Errorf("%s: asked %q", id, *asked)
		}
	}
}

// A role that another hand has given is kept, one of the same name for somebody else is replaced, and a refusal is one.
func TestAssign(t *testing.T) {
	a := Assignment{Name: uuidA, Scope: anyGroup, RoleGUID: uuidC, PrincipalID: uuidA}
	held := func(principal, scope string) said {
		return said{http.StatusOK, nil, `{"value":[{"name":"x","properties":{"principalId":"` + principal + `","scope":"` + scope + `","roleDefinitionId":"/subscriptions/` + uuidB +
			`/providers/Microsoft.Authorization/roleDefinitions/` + uuidC + `"}}]}`}
	}
	refuse := func(code string) said {
		return said{http.StatusConflict, nil, `{"error":{"code":"` + code + `","message":"x"}}`}
	}
	made := said{http.StatusCreated, nil, `{}`}
	for _, tc := range []struct {
		name    string
		answers []said
		methods string
		code    string
	}{
		{"new", []said{made}, "PUT", ""},
		{"there under another name", []said{refuse("RoleAssignmentExists"), held(strings.ToUpper(uuidA), strings.ToUpper(anyGroup))}, "PUT GET", ""},
		{"there above, where it may be taken away", []said{refuse("RoleAssignmentExists"), held(uuidA, "/subscriptions/"+uuidB)}, "PUT GET", "RoleAssignmentExists"},
		{"somebody else's", []said{refuse("RoleAssignmentExists"), held(uuidC, anyGroup)}, "PUT GET", "RoleAssignmentExists"},
		{"who may not look takes Azure's word", []said{refuse("RoleAssignmentExists"), refuse("AuthorizationFailed")}, "PUT GET", ""},
		{"left by an earlier cluster", []said{refuse("RoleAssignmentUpdateNotPermitted"), {http.StatusOK, nil, `{}`}, made}, "PUT DELETE PUT", ""},
		{"the same, gone meanwhile", []said{refuse("RoleAssignmentUpdateNotPermitted"), {http.StatusNoContent, nil, ``}, made}, "PUT DELETE PUT", ""},
		{"the same, and it is locked", []said{refuse("RoleAssignmentUpdateNotPermitted"), refuse("ScopeLocked")}, "PUT DELETE", "ScopeLocked"},
		{"no right", []said{refuse("AuthorizationFailed")}, "PUT", "AuthorizationFailed"},
	} {
		s, asked := scripted(t, tc.answers...)
		err := s.Assign(t.Context(), a)
		var methods []string
		for _, call := range *asked {
			method, _, _ := strings.Cut(call, " ")
			methods = append(methods, method)
		}
		if failure.CodeOf(err) != tc.code || (err == nil) != (tc.code == "") || strings.Join(methods, " ") != tc.methods {
			t.Errorf("%s: %v, asked %q", tc.name, err, methods)
		}
	}
}

// A look at roles takes a scope that may not be listed for one without, remembers that, and asks once for many questions.
func TestAssignmentsAreListedOnce(t *testing.T) {
	body := `{"value":[{"name":"` + uuidA + `","properties":{"principalId":"` + uuidC + `","scope":"` + anyGroup + `","roleDefinitionId":"/r"}}]}`
	s, asked := scripted(t, said{http.StatusOK, nil, body}, said{http.StatusForbidden, nil, `{"error":{"code":"AuthorizationFailed","message":"x"}}`}, said{http.StatusNotFound, nil, `{"error":{"code":"ResourceGroupNotFound","message":"x"}}`},
		said{http.StatusBadRequest, nil, `{"error":{"code":"Odd","message":"x"}}`})
	all := s.NewAssignments()
	for scope, want := range map[string]AssignmentState{anyGroup: AssignmentStale, strings.ToUpper(anyGroup): AssignmentStale} {
		if state, err := all.Observe(t.Context(), Assignment{Name: strings.ToUpper(uuidA), Scope: scope, RoleGUID: uuidC, PrincipalID: uuidA}); err != nil || state != want {
			t.Errorf("%s: %v, %v", scope, state, err)
		}
	}
	for _, scope := range []string{anyGroup + "2", anyGroup + "3"} {
		if state, err := all.Observe(t.Context(), Assignment{Name: uuidA, Scope: scope}); err != nil || state != AssignmentMissing {
			t.Errorf("%s: %v, %v", scope, state, err)
		}
	}
	if failure.CodeOf(all.Refused(strings.ToUpper(anyGroup)+"2")) != "AuthorizationFailed" || all.Refused(anyGroup) != nil || all.Refused(anyGroup+"3") != nil {
		t.Errorf("refused: %v", all.Refused(anyGroup+"2"))
	}
	if _, err := all.Observe(t.Context(), Assignment{Scope: anyGroup + "4"}); failure.CodeOf(err) != "Odd" || len(*asked) != 4 {
		t.Errorf("%v, asked %q", err, *asked)
	}
}

// Wildcards of a role stand anywhere, its NotActions take away only what it gives itself, and case is no difference.
func TestPermissionsAllow(t *testing.T) {
	const contributor = `[{"actions":["*"],"notActions":["Microsoft.Authorization/*/Write","Microsoft.Authorization/*/Delete"]}]`
	const both = `[{"actions":["*"],"notActions":["Microsoft.Authorization/*/Write"]},{"actions":["Microsoft.Authorization/roleAssignments/*"],"notActions":[]}]`
	for _, tc := range []struct {
		held, action string
		want         bool
	}{
		{contributor, "Microsoft.Network/virtualNetworks/write", true}, {contributor, "microsoft.authorization/roleassignments/write", false},
		{contributor, "Microsoft.Authorization/roleAssignments/read", true}, {both, "Microsoft.Authorization/roleAssignments/write", true},
		{`[{"actions":["*/read"]}]`, "Microsoft.Network/virtualNetworks/read", true}, {`[{"actions":["*/read"]}]`, "Microsoft.Network/virtualNetworks/read/write", false},
		{`[{"actions":["Microsoft.Network/virtualNetworks/write"]}]`, "Microsoft.Network/virtualNetworksX/write", false},
		{`[{"actions":["Microsoft.Network.virtualNetworks/write"]}]`, "Microsoft.Network/virtualNetworks/write", false}, {`[]`, "a/b/read", false},
	} {
		var p Permissions
		if err := json.Unmarshal([]byte(tc.held), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.Allow(tc.action); got != tc.want {
			t.Errorf("%s with %s: %v", tc.action, tc.held, got)
		}
	}
	given := Given{Scope: anyGroup, Allow: Permissions{{Actions: []string{"*"}}}}
	for id, want := range map[string]bool{anyGroup: true, strings.ToUpper(anyNSG): true, anyGroup + "2": false, "/subscriptions/" + uuidB: false} {
		if given.Allows("a/b/write", id) != want {
			t.Errorf("a role on %s counts on %s: %v", anyGroup, id, !want)
		}
	}
}

// Deny assignments and policies are read as Azure means them: only what denies is told.
func TestWhatDenies(t *testing.T) {
	s, _ := scripted(t, said{http.StatusOK, nil, `{"value":[{"properties":{"denyAssignmentName":"managed","scope":"` + anyGroup + `","doNotApplyToChildScopes":true,"permissions":[{"actions":["*/write"],"notActions":["a/*"]}],
		"principals":[{"id":"00000000-0000-0000-0000-000000000000"}],"excludePrincipals":[{"id":"` + strings.ToUpper("aaaaaaaa-1111-1111-1111-111111111111") + `"}]}}]}`})
	all, err := s.DenyAssignments(t.Context(), anyGroup)
	if err != nil || len(all) != 1 || all[0].Name != "managed" || !all[0].ScopeOnly || !all[0].Permissions.Allow("b/c/write") || all[0].Permissions.Allow("a/c/write") ||
		!slices.Equal(all[0].Excluded, []string{"aaaaaaaa-1111-1111-1111-111111111111"}) || len(all[0].Principals) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	evaluation := func(id, result, effect string) string {
		return `{"policyInfo":{"policyAssignmentId":"` + id + `"},"evaluationResult":"` + result + `","effectDetails":{"policyEffect":"` + effect + `"}}`
	}
	s, _ = scripted(t, said{http.StatusOK, nil, `{"contentEvaluationResult":{"policyEvaluations":[` + strings.Join([]string{evaluation("denies", "NonCompliant", "Deny"), evaluation("audits", "NonCompliant", "audit"),
		evaluation("fits", "Compliant", "deny"), evaluation("old", "NonCompliant", "")}, ",") + `]}}`})
	if denying, err := s.PolicyRestrictions(t.Context(), anyGroup, Resource{}); err != nil || !slices.Equal(denying, []string{"denies", "old"}) {
		t.Errorf("%q, %v", denying, err)
	}
}

// Errors of a credentials file name it and the field, and tell nothing of what it has.
func TestACredentialsFileIsNotTold(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"list": "[PRECIOUS]", "tab": "\tclientSecret: PRECIOUS", "short": `{"clientSecret":"PRECIOUS"}`,
		"id": `{"subscriptionId":"PRECIOUS","tenantId":"` + uuidA + `","clientId":"` + uuidA + `","clientSecret":"PRECIOUS"}`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCredentials(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "subscriptionId") || strings.Contains(err.Error(), "PRECIOUS") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadCredentials(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
