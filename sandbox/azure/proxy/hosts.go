// Package proxy brings clients to the embedded Azure: a CONNECT proxy and an edge that goes by the server name in TLS. Both share one table
// of hosts.
package proxy

import (
	"net/http"
	"strings"
)

// Hosts is the table. Patterns are host names, or "*.suffix".
type Hosts struct {
	Local   map[string]http.Handler // served in process
	Forward map[string]string       // pattern -> host:port, passed through without looking inside
}

// local finds the handler of a host.
func (h Hosts) local(host string) http.Handler { return find(h.Local, host) }

func (h Hosts) forward(host string) string { return find(h.Forward, host) }

// Known tells whether the table has the host.
func (h Hosts) Known(host string) bool { return h.local(host) != nil || h.forward(host) != "" }

func find[V any](table map[string]V, host string) (v V) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if v, ok := table[host]; ok {
		return v
	}
	if _, parent, ok := strings.Cut(host, "."); ok {
		return table["*."+parent]
	}
	return v
}

// ServeHTTP hands a decrypted request to its plane, by the Host header.
func (h Hosts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	r.Host = host
	if l := h.local(host); l != nil {
		l.ServeHTTP(w, r)
		return
	}
	http.Error(w, "the embedded Azure does not serve "+host, http.StatusMisdirectedRequest)
}
