package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
)

// grantPeriod is how often the first rights are looked at again once they were written.
const grantPeriod = 5 * time.Minute

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

// grant writes into the guest what must be there before anybody else can work in it.
func grant(ctx context.Context, connect func(kubeconfig []byte) (client.Client, error), inputs *component.Inputs) error {
	guest, err := admin(connect, inputs)
	if err != nil {
		return err
	}
	return access.Bootstrap(ctx, guest)
}

// admin is a client of the guest with all rights.
func admin(connect func(kubeconfig []byte) (client.Client, error), inputs *component.Inputs) (client.Client, error) {
	data, _ := inputs.Data("Secret", contract.ServiceKubeconfig)
	guest, err := connect(data[contract.KubeconfigKey])
	if err != nil {
		return nil, fmt.Errorf("reach the hosted API server: %w", err)
	}
	return guest, nil
}
