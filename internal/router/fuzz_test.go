package router

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
)

// spoken is a connection whose client has said all.
type spoken struct {
	net.Conn
	said io.Reader
}

func (s spoken) Read(p []byte) (int, error) { return s.said.Read(p) }

// listening keeps what a client says, and answers nothing.
type listening struct {
	net.Conn
	heard bytes.Buffer
}

func (l *listening) Read([]byte) (int, error)    { return 0, io.EOF }
func (l *listening) Write(p []byte) (int, error) { return l.heard.Write(p) }

// FuzzServerName: whatever a client says first, what is passed on is what it said.
func FuzzServerName(f *testing.F) {
	for _, name := range []string{"a.example.com", "A.Example.COM", strings.Repeat("a", 200) + ".test"} {
		client := &listening{}
		// There is no answer; the hello is all that matters.
		_ = tls.Client(client, &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}).Handshake()
		f.Add(client.heard.Bytes())
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{22, 3, 1, 255, 255, 1, 0, 255, 251})
	f.Fuzz(func(t *testing.T, said []byte) {
		name, hello, err := serverName(context.Background(), spoken{said: bytes.NewReader(said)})
		if err != nil {
			if name != "" || hello != nil {
				t.Errorf("%q with error %v", name, err)
			}
			return
		}
		if name == "" || !bytes.HasPrefix(said, hello) {
			t.Errorf("%q, after %d of %d bytes", name, len(hello), len(said))
		}
	})
}

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
