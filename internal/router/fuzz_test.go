package router

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzRoute: whatever a Route's author writes, only names in lower case are claimed, and the Service is one of his own namespace.
func FuzzRoute(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a","namespace":"b"},"spec":{"host":"A.example.com","tls":{"termination":"passthrough"},"to":{"kind":"Service","name":"s"},"port":{"targetPort":"https"}}}`))
	f.Add([]byte(`{"metadata":{"name":"a","labels":{"hypershift.openshift.io/hosted-control-plane":"x"}},"spec":{"tls":"passthrough","to":[],"port":{"targetPort":{"a":1}}}}`))
	f.Add([]byte(`{"spec":{"tls":{"termination":"passthrough"},"port":{"targetPort":8443}},"status":{"ingress":[{"host":1,"conditions":[1]}]}}`))
	f.Add([]byte(`{"spec":{"tls":{"termination":"passthrough"}},"status":{"ingress":[null]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		route := newRoute()
		if json.Unmarshal(text, &route.Object) != nil || route.Object == nil {
			return
		}
		if _, ok := route.Object["metadata"].(map[string]any); !ok { // the API server sees to it
			route.Object["metadata"] = map[string]any{}
		}
		route.SetGroupVersionKind(Kind)
		route.SetNamespace("attacker")
		admitter := &Admitter{Domain: domain, Table: NewTable()}
		admitter.claim(route)
		current(route, hostOf(route, domain), map[string]any{"type": "Admitted", "status": "True"})
		for host, claims := range admitter.Table.claims {
			if host != strings.ToLower(host) || len(claims) != 1 || claims[0].target.Namespace != "attacker" {
				t.Errorf("%s: %+v", host, claims)
			}
			if unserved(route) != nil || hosted(route) {
				t.Errorf("%s is claimed by a Route that is not served", host)
			}
		}
	})
}
