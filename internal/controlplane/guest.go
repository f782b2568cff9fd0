package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

const (
	// grantPeriod is how often the first rights are looked at again once they were written.
	grantPeriod       = 5 * time.Minute
	probeTimeout      = 10 * time.Second
	firstProbeTimeout = 2 * time.Second
)

// grants remembers when the rights in a guest were last written.
type grants struct {
	mu   sync.Mutex
	last map[types.UID]time.Time
}

func (g *grants) due(id types.UID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Sub(g.last[id]) > grantPeriod
}

func (g *grants) done(id types.UID, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = map[types.UID]time.Time{}
	}
	g.last[id] = now
}

// grantAccess writes into the guest what must be there before anybody else can work in it.
func (p *pass) grantAccess(ctx context.Context) error {
	if !p.apiServerAvailable() || !p.granted.due(p.hcp.UID, p.Now()) {
		return nil
	}
	if err := p.announceAPIServer(ctx); err != nil {
		return err
	}
	admin, err := p.Guest(p.kubeconfig())
	if err != nil {
		return fmt.Errorf("reach the hosted API server: %w", err)
	}
	if err := access.Bootstrap(ctx, admin); err != nil {
		return err
	}
	p.granted.done(p.hcp.UID, p.Now())
	return nil
}

// announceAPIServer tells who waits for the API server before the first rights are written, which takes a moment.
func (p *pass) announceAPIServer(ctx context.Context) error {
	before := p.hcp.DeepCopy()
	set := kube.Conditions(&p.hcp.Status.Conditions, p.hcp.Generation)
	p.setEtcd(set)
	p.setAPIServer(set)
	return p.writeStatus(ctx, before)
}

func (p *pass) kubeconfig() []byte {
	data, _ := p.inputs.Data("Secret", component.AdminKubeconfigSecret)
	return data["kubeconfig"]
}

// probeAPI asks the published API server for its health, from where it is published.
func (p *pass) probeAPI(ctx context.Context) {
	if !p.apiServerAvailable() || !p.endpoints.APIServer.Known() {
		return
	}
	probe := p.Probe
	if probe == nil {
		probe = probeHTTPS
	}
	// While it is not up yet, packets may get lost on a path that is being built: better ask again than wait for one answer.
	timeout := firstProbeTimeout
	if p.hcp.Status.Ready {
		timeout = probeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// As clients do: while the authority is being replaced, the API server still shows what the former one signed.
	p.probed = probe(ctx, p.endpoints.APIServer, pki.Trusted(p.secrets, pki.RootCA))
	p.reachable = p.probed == nil
}

func probeHTTPS(ctx context.Context, endpoint publish.Endpoint, trusted []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint.URL()+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", endpoint.URL(), err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("the published API server does not answer at %s: %w", endpoint.URL(), err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the published API server answers %s/healthz with %s", endpoint.URL(), response.Status)
	}
	return nil
}

// endAPIServer stops the API server at once. Its long goodbye to its clients is for rollouts: here the machines are gone, and a pod
// that was asked to end cannot be asked to hurry, so its owners are taken away first, and leave it.
func (r *Reconciler) endAPIServer(ctx context.Context, namespace string) error {
	inside, itself := client.InNamespace(namespace), client.MatchingLabels{component.LabelApp: component.APIServer}
	leave := client.PropagationPolicy(metav1.DeletePropagationOrphan)
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: component.APIServer, Namespace: namespace}}
	if err := kube.DeleteIfExists(ctx, r.Client, owner, leave); err != nil {
		return err
	}
	if err := r.Client.DeleteAllOf(ctx, &appsv1.ReplicaSet{}, inside, itself, leave); err != nil {
		return fmt.Errorf("delete the replica sets of the API server: %w", err)
	}
	if err := r.Client.DeleteAllOf(ctx, &corev1.Pod{}, inside, itself, client.GracePeriodSeconds(1)); err != nil {
		return fmt.Errorf("end the API server: %w", err)
	}
	return nil
}
