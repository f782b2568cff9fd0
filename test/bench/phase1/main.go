// Command phase1 measures the administrator's phase with an injected latency.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func main() {
	key, err := newSigner()
	if err != nil {
		panic(err)
	}
	for range 3 {
		one(key)
	}
}

func one(key []byte) {
	w, err := newWorld(context.Background(), key)
	if err != nil {
		panic(err)
	}
	defer w.stop()
	raw, _ := os.ReadFile(w.path("ca.crt"))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(raw)
	for range 2 {
		tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.server.ProxyAddr()}), TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 64, ForceAttemptHTTP2: true}
		begin := time.Now()
		s, err := azure.NewSession(azure.Credentials{SubscriptionID: subscription, TenantID: tenant, ClientID: clientID, ClientSecret: secret}, "", azure.WithHTTPClient(&http.Client{Transport: tr}))
		if err != nil {
			panic(err)
		}
		_, err = provision.CreatePrerequisites(context.Background(), s, provision.PrerequisitesOptions{
			Issuer: provision.IssuerOptions{Name: "demo", ResourceGroup: common, Location: location, KeyDirectory: w.path("keys")},
			IAM:    provision.IAMOptions{Name: "demo", InfraID: "demo-x1", ResourceGroup: common, Location: location},
			DNS:    provision.DNSOptions{Zone: "clusters.example.com", ResourceGroup: common, Location: location, ManagementURL: "https://issuer.mgmt.example.com", CredentialsPath: w.path("azure_mgmt.json"), Resolver: w.server.DNSAddr(), DelegationWait: time.Second},
			Infra:  provision.InfraOptions{Name: "demo", InfraID: "demo-x1", BaseDomain: parentZone, Location: location, AssignRoles: true},
		}, func(e stack.Event) {
			if e.Phase != stack.Applying && len(os.Args) > 1 {
				fmt.Printf("%.3f %s %s %s %v\n", time.Since(begin).Seconds(), e.Phase, e.Node.ID, e.Node.Name, e.Err)
			}
		})
		fmt.Println(time.Since(begin), err)
		if raw, err := os.ReadFile(w.path("azure/access.log")); err == nil {
			os.WriteFile("/tmp/a1/access.log", raw, 0o644)
		}
		tr.CloseIdleConnections()
	}
}
