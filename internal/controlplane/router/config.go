package router

import (
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// The time limits are those of connections that stay open for a day: watches, exec sessions, konnectivity's tunnels. Keep-alive finds
// the peers that are gone without a word. What is no TLS gets no answer. A node that allows fewer open files than so many connections need
// has fewer of them, and a router all the same.
const head = `global
  maxconn 20000
  no strict-limits
  log stdout format raw local0 notice

defaults
  mode tcp
  log global
  option clitcpka
  option srvtcpka
  timeout connect 10s
  timeout client 24h
  timeout server 24h
  timeout tunnel 24h
  timeout client-fin 10s
  timeout server-fin 10s

frontend health
  mode http
  bind :::%d v4v6
  monitor-uri %s

frontend https
  bind :::%d v4v6
  tcp-request inspect-delay 5s
  tcp-request content accept if { req.ssl_hello_type 1 }
  tcp-request content reject
`

// Config renders HAProxy's configuration. The last backend takes what no other one is named for.
func Config(backends []publish.Backend) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, head, healthPort, healthPath, publish.RouterPort)
	for _, b := range backends {
		if b.Host == "" {
			fmt.Fprintf(text, "  default_backend %s\n", b.Name)
			continue
		}
		fmt.Fprintf(text, "  use_backend %s if { req.ssl_sni -i %s }\n", b.Name, b.Host)
	}
	for _, b := range backends {
		fmt.Fprintf(text, "\nbackend %s\n  server %s %s\n", b.Name, b.Name, b.Address)
	}
	return text.String()
}
