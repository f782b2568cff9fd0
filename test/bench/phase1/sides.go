package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/azcli"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
)

const managementIssuer = "https://issuer.mgmt." + parentZone

// bench holds what all sides have in common; each works in an Azure of its own that has nothing yet.
type bench struct {
	program string
	key     []byte
}

// execute runs a program in the world and returns how long a user waits for it.
func (w *world) execute(ctx context.Context, env []string, program string, args ...string) (time.Duration, error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, append(w.env(), env...), &output, &output
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, output.Bytes())
	}
	return time.Since(begin), nil
}

// oneCommand is the phase in one command.
func (w *world) oneCommand() []string {
	return []string{"create", "prerequisites", "azure", "--name", "demo", "--infra-id", "demo-x1", "--azure-creds", w.path("azure-credentials.json"),
		"--resource-group-name", common, "--base-domain", parentZone, "--dns-zone-name", zone, "--dns-resolver", w.server.DNSAddr(),
		"--management-issuer-url", managementIssuer, "--external-dns-credentials", "azure_mgmt.json", "--output-dir", "keys", "--handoff", "demo.yaml"}
}

// realistic runs the one command against an Azure in which what is made shows late. It must end well by itself.
func (b *bench) realistic(ctx context.Context, s *sides) error {
	w, err := newWorld(ctx, b.key, pace.Realistic)
	if err != nil {
		return err
	}
	defer w.stop()
	took, err := w.execute(ctx, nil, b.program, w.oneCommand()...)
	if err != nil {
		return err
	}
	all, err := w.calls(0)
	s.late.add(took, len(all))
	return err
}

// ours runs the one command, and runs it again.
func (b *bench) ours(ctx context.Context, s *sides) error {
	w, err := newWorld(ctx, b.key, pace.Fast)
	if err != nil {
		return err
	}
	defer w.stop()
	args := w.oneCommand()
	took, err := w.execute(ctx, nil, b.program, args...)
	if err != nil {
		return err
	}
	first, err := w.calls(0)
	if err != nil {
		return err
	}
	s.ours.add(took, len(first))
	if err := check(first); err != nil {
		return err
	}
	if took, err = w.execute(ctx, nil, b.program, args...); err != nil {
		return err
	}
	again, err := w.calls(len(first))
	if err != nil {
		return err
	}
	s.idle.add(took, len(again))
	if writes := again.writes(); len(writes) > 0 {
		return fmt.Errorf("a run that had nothing to do wrote: %v", writes)
	}
	return nil
}

// apart runs the four commands as a user types them.
func (b *bench) apart(ctx context.Context, s *sides) error {
	w, err := newWorld(ctx, b.key, pace.Fast)
	if err != nil {
		return err
	}
	defer w.stop()
	var sum time.Duration
	for _, args := range [][]string{
		{"oidc-issuer", "azure", "--name", "demo", "--resource-group-name", common, "--output-dir", "keys"},
		{"iam", "azure", "--infra-id", "demo-x1"},
		{"dns", "azure", "--dns-zone-name", zone, "--resource-group-name", common, "--dns-resolver", w.server.DNSAddr(),
			"--management-issuer-url", managementIssuer, "--external-dns-credentials", "azure_mgmt.json"},
		{"infra", "azure", "--base-domain", parentZone, "--assign-identity-roles"},
	} {
		args = append(append([]string{"create"}, args...), "--azure-creds", w.path("azure-credentials.json"), "--handoff", "demo.yaml")
		took, err := w.execute(ctx, nil, b.program, args...)
		if err != nil {
			return err
		}
		sum += took
	}
	all, err := w.calls(0)
	s.apart.add(sum, len(all))
	return err
}

//go:embed seeds.sh
var seeds []byte

// az runs the field's bash. It makes less: of the infrastructure only the network, and no role of the identities.
func (b *bench) az(ctx context.Context, s *sides) error {
	w, err := newWorld(ctx, b.key, pace.Fast)
	if err != nil {
		return err
	}
	defer w.stop()
	if err := azcli.Install(w.path("azcli")); err != nil {
		return err
	}
	if err := os.WriteFile(w.path("seeds.sh"), seeds, 0o600); err != nil {
		return err
	}
	took, err := w.execute(ctx, []string{"HYPERSHIFT=" + b.program, "PYTHONPATH=" + w.path("azcli"), "AZURE_CONFIG_DIR=" + w.path("azure-config"),
		"AZURE_CORE_COLLECT_TELEMETRY=no"}, "bash", w.path("seeds.sh"))
	if err != nil {
		return err
	}
	all, err := w.calls(0)
	s.az.add(took, len(all))
	return err
}

// oneAtATime lets no call begin before the one before it has been answered in full.
type oneAtATime struct {
	mu   sync.Mutex
	next http.RoundTripper
}

func (o *oneAtATime) RoundTrip(req *http.Request) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.next.RoundTrip(req)
}

// serial makes the calls of the one command one at a time. It waits for several long-running operations at once, which a plain serial
// client would not.
func (b *bench) serial(ctx context.Context, s *sides) error {
	w, err := newWorld(ctx, b.key, pace.Fast)
	if err != nil {
		return err
	}
	defer w.stop()
	pool := x509.NewCertPool()
	ca, err := os.ReadFile(w.path("ca.crt"))
	if err != nil {
		return err
	}
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.server.ProxyAddr()}), TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	begin := time.Now()
	session, err := azure.NewSession(azure.Credentials{SubscriptionID: subscription, TenantID: tenant, ClientID: clientID, ClientSecret: secret}, "",
		azure.WithHTTPClient(&http.Client{Transport: &oneAtATime{next: transport}}))
	if err != nil {
		return err
	}
	const name, infraID = "demo", "demo-x1"
	_, err = provision.CreatePrerequisites(ctx, session, provision.PrerequisitesOptions{
		Issuer: issuer.Options{Name: name, ResourceGroup: common, Location: location, KeyDirectory: w.path("keys")},
		IAM:    iam.Options{Name: name, InfraID: infraID, ResourceGroup: common, Location: location},
		DNS: dns.Options{Zone: zone, ResourceGroup: common, Location: location, ManagementURL: managementIssuer, CredentialsPath: w.path("azure_mgmt.json"),
			Resolver: w.server.DNSAddr(), DelegationWait: time.Minute},
		Infra: infra.Options{Name: name, InfraID: infraID, BaseDomain: parentZone, Location: location, AssignRoles: true},
	}, func(stack.Event) {})
	took := time.Since(begin)
	if err != nil {
		return err
	}
	all, err := w.calls(0)
	s.serial.add(took, len(all))
	return err
}
