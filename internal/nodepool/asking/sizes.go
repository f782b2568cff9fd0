package asking

import (
	"context"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// SizesLife is how long a location's list of sizes is good for: new sizes come seldom.
const SizesLife = time.Hour

// Sizes are what Azure said last of the sizes of virtual machines, by who asked and where.
type Sizes struct {
	mu   sync.Mutex
	last map[asker]sizesAnswer
}

type asker struct{ subscription, clientID, location string }

type sizesAnswer struct {
	at    time.Time
	sizes map[string]azure.MachineSize
	err   error
}

// fresh: a list is good for an hour, a failure until the next time to ask.
func (a sizesAnswer) fresh(now time.Time) bool {
	life := SizesLife
	if a.err != nil {
		life = Period
	}
	return now.Sub(a.at) < life
}

func (s *Sizes) get(who asker, now time.Time) (sizesAnswer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.last[who]
	return found, ok && found.fresh(now)
}

// put also drops expired entries: the keys come from users, so the map would grow without bound.
func (s *Sizes) put(who asker, said sizesAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[asker]sizesAnswer{}
	}
	for key, old := range s.last {
		if !old.fresh(said.at) {
			delete(s.last, key)
		}
	}
	s.last[who] = said
}

// Of are the sizes of the identity's location by their names in lower case, as read reads them when they are not known.
func (s *Sizes) Of(ctx context.Context, who Identity, now time.Time, read func(context.Context, Identity) (map[string]azure.MachineSize, error)) (map[string]azure.MachineSize, error) {
	key := asker{who.Platform.SubscriptionID, who.ClientID, strings.ToLower(who.Platform.Location)}
	if said, ok := s.get(key, now); ok {
		return said.sizes, said.err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	said := sizesAnswer{at: now}
	if said.sizes, said.err = read(ctx, who); said.err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot read the sizes of virtual machines", "location", who.Platform.Location, "error", said.err.Error())
	}
	s.put(key, said)
	return said.sizes, said.err
}

// ReadSizes reads them from Azure.
func ReadSizes(ctx context.Context, who Identity) (map[string]azure.MachineSize, error) {
	session, err := who.session(nil)
	if err != nil {
		return nil, err
	}
	return session.MachineSizes(ctx, who.Platform.Location)
}
