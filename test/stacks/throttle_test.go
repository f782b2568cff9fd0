package stacks_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// patience records how the client treats refusals.
type patience struct {
	next http.RoundTripper

	mu                   sync.Mutex
	until                map[string]time.Time // of a request that was refused
	calls, refused       int
	early, atOnce, worst int
}

// clientOf is one cluster's way to Azure.
type clientOf struct {
	*patience
	cluster string
}

func (p clientOf) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != "management.azure.com" {
		return p.next.RoundTrip(req)
	}
	what := p.cluster + " " + req.Method + " " + req.URL.Path
	p.mu.Lock()
	p.calls++
	p.atOnce++
	p.worst = max(p.worst, p.atOnce)
	if time.Now().Before(p.until[what]) {
		p.early++
	}
	p.mu.Unlock()
	resp, err := p.next.RoundTrip(req)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atOnce--
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		p.refused++
		p.until[what] = time.Now().Add(retryAfter)
	}
	return resp, err
}

const retryAfter = 100 * time.Millisecond

// TestFiftyClustersUnderThrottling has the identities of fifty clusters made at once while every twentieth call is refused.
func TestFiftyClustersUnderThrottling(t *testing.T) {
	w := newWorld(t)
	_, err := w.server.Faults().Add(fault.Rule{Preset: "throttled", Plane: fault.ARM, RetryAfter: fault.Duration(retryAfter), Chance: 0.05, Seed: 7})
	must(t, err)
	p := &patience{next: w.transport, until: map[string]time.Time{}}
	const clusters = 50
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range clusters {
		name := fmt.Sprint("c", i)
		session := w.session(clientOf{p, name})
		wg.Go(func() {
			if err := createIdentities(session, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	if p.early != 0 {
		t.Errorf("%d calls were repeated before Retry-After", p.early)
	}
	if p.refused == 0 {
		t.Error("nothing was refused")
	}
	const most = 32 // calls under way for one subscription
	if p.worst > most {
		t.Errorf("%d calls at once", p.worst)
	}
	identities := 0
	for key := range w.dump() {
		if id, err := azure.ParseID(key[len("arm "):]); err == nil && id.Type == "microsoft.managedidentity/userassignedidentities" {
			identities++
		}
	}
	if identities != 7*clusters {
		t.Errorf("%d identities", identities)
	}
	t.Logf("%d clusters, %d calls, %d refused, at most %d at once, %s", clusters, p.calls, p.refused, p.worst, time.Since(begin).Round(time.Millisecond))
}

func createIdentities(s *azure.Session, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_, err := iam.Create(ctx, s, iam.Options{Name: name, InfraID: name + "-x", ResourceGroup: common, Location: location,
		IssuerURL: "https://issuer.blob.core.windows.net/" + name}, nil)
	return err
}
