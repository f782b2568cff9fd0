package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// sizesLife is how long a location's list of sizes is good for: new sizes come seldom.
const sizesLife = time.Hour

// sizes are what Azure said last of the sizes of virtual machines, by who asked and where.
type sizes struct {
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
	life := sizesLife
	if a.err != nil {
		life = askPeriod
	}
	return now.Sub(a.at) < life
}

func (s *sizes) get(who asker, now time.Time) (sizesAnswer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.last[who]
	return found, ok && found.fresh(now)
}

// put drops what is no longer good, too: who asks is what users write.
func (s *sizes) put(who asker, said sizesAnswer) {
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

// machineSize is what a machine of the pool has; nil where that cannot be said, with the reason.
func (r *Reconciler) machineSize(ctx context.Context, p *pass) (size *azure.MachineSize, problem string, err error) {
	who, err := r.identityOf(ctx, p)
	if err != nil {
		return nil, "", err
	}
	if who == nil {
		return nil, "nobody can ask Azure for the size's capacity: the HostedCluster names no identity nodePoolManagement, or no signing key for it; set autoScaling.min to at least 1", nil
	}
	said := r.sizesOf(ctx, *who)
	if said.err != nil {
		p.again(askPeriod)
		return nil, fmt.Sprintf("Azure does not tell the capacity of size %s: %v", p.np.Spec.Platform.Azure.VMSize, said.err), nil
	}
	found, ok := said.sizes[strings.ToLower(p.np.Spec.Platform.Azure.VMSize)]
	if !ok {
		return nil, fmt.Sprintf("location %s has no size %s; set spec.platform.azure.vmSize to one that it has", who.platform.Location, p.np.Spec.Platform.Azure.VMSize), nil
	}
	return &found, "", nil
}

func (r *Reconciler) sizesOf(ctx context.Context, who identity) sizesAnswer {
	key := asker{who.platform.SubscriptionID, who.clientID, strings.ToLower(who.platform.Location)}
	if said, ok := r.sizes.get(key, r.now()); ok {
		return said
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	said := sizesAnswer{at: r.now()}
	if said.sizes, said.err = r.readSizes(ctx, who); said.err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot read the sizes of virtual machines", "location", who.platform.Location, "error", said.err.Error())
	}
	r.sizes.put(key, said)
	return said
}

func readSizes(ctx context.Context, who identity) (map[string]azure.MachineSize, error) {
	session, err := who.session(nil)
	if err != nil {
		return nil, err
	}
	return session.MachineSizes(ctx, who.platform.Location)
}

// rememberedSize is what the MachineDeployment says of the same size; nil when it says nothing. While Azure does not answer, the autoscaler
// is to know what it knew.
func rememberedSize(p *pass) *azure.MachineSize {
	if p.maker == nil || !strings.EqualFold(p.maker.Annotations[capacityOfAnnotation], p.np.Spec.Platform.Azure.VMSize) {
		return nil
	}
	told := p.maker.Annotations
	number := func(key string) int64 {
		value, err := strconv.ParseInt(cmp.Or(told[formerPrefix+key], "0"), 10, 64)
		if err != nil {
			return 0
		}
		return value
	}
	size := &azure.MachineSize{Name: told[capacityOfAnnotation], VCPUs: number("vCPU"), MemoryMiB: number("memoryMb"), GPUs: number("GPU"), Arch: p.arch()}
	if size.VCPUs == 0 || size.MemoryMiB == 0 {
		return nil
	}
	return size
}
