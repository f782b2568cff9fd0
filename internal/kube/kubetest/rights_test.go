package kubetest

import (
	"net/http/httptest"
	"testing"
)

// TestWildcardsAreSeen: a right to everything must not pass for the right to something.
func TestWildcardsAreSeen(t *testing.T) {
	some := Rights("apps", "deployments", "get")
	for _, held := range []Right{{"apps", "deployments", "*"}, {"apps", "*", "get"}, {"*", "deployments", "get"}} {
		if Covers(some, held) {
			t.Errorf("%s passes for %s", held, some[0])
		}
		if held.Group != "*" && !Covers([]Right{held}, some[0]) {
			t.Errorf("%s does not cover %s", held, some[0])
		}
	}
}

// TestCalls reads requests as the API server's authorization does.
func TestCalls(t *testing.T) {
	for line, want := range map[string]string{
		"GET /api/v1/namespaces/a/pods/b/log":                    "get pods/log.",
		"GET /api/v1/pods?watch=true":                            "watch pods.",
		"GET /api/v1/namespaces":                                 "list namespaces.",
		"GET /api/v1/namespaces/a":                               "get namespaces.",
		"PUT /api/v1/namespaces/a/finalize":                      "update namespaces/finalize.",
		"DELETE /apis/apps/v1/namespaces/a/replicasets":          "deletecollection replicasets.apps",
		"DELETE /apis/apps/v1/namespaces/a/deployments/b":        "delete deployments.apps",
		"POST /apis/apps/v1/namespaces/a/deployments":            "create deployments.apps",
		"PATCH /apis/apps/v1/namespaces/a/deployments/b/status":  "patch deployments/status.apps",
		"PATCH! /apis/apps/v1/namespaces/a/deployments/b":        "create deployments.apps patch deployments.apps",
		"PATCH! /apis/apps/v1/namespaces/a/deployments/b/status": "patch deployments/status.apps",
		"GET /apis/apps/v1":                                      "",
		"GET /healthz":                                           "",
	} {
		var method, target string
		for i := range line {
			if line[i] == ' ' {
				method, target = line[:i], line[i+1:]
				break
			}
		}
		calls, apply := Calls{}, method[len(method)-1] == '!'
		if apply {
			method = method[:len(method)-1]
		}
		request := httptest.NewRequest(method, target, nil)
		if apply {
			request.Header.Set("Content-Type", "application/apply-patch+yaml")
		}
		calls.Record(request)
		got := ""
		for i, used := range calls.Used() {
			if i > 0 {
				got += " "
			}
			got += used.String()
		}
		if got != want {
			t.Errorf("%s takes %q, want %q", line, got, want)
		}
	}
}
