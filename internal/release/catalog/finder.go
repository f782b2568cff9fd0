package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	// Tags of catalogs move every few hours.
	lifetime        = 5 * time.Minute
	failureLifetime = time.Minute
	searchLimit     = 2 * time.Minute
	// patience is how long a caller waits for the registry; the search goes on without it.
	patience = 2 * time.Second
	// remembered bounds the answers: a process looks after one hosted cluster, whose releases and pull secrets change now and then.
	remembered = 64
)

// Finder asks registries for the catalogs of a release and remembers the answers. The zero value with Digest works.
type Finder struct {
	// Digest reads the digest of an image. Errors are *release.Error.
	Digest func(ctx context.Context, image string, access release.Access) (string, error)

	mu      sync.Mutex
	answers map[string]*answer
}

type answer struct {
	// ready is closed when the search has ended.
	ready chan struct{}
	image string
	err   error
	until time.Time
	// former is the image of the answer before.
	former string
}

// Find is the image of a catalog, by digest, for a release of the version: the one that the HostedControlPlane's annotations name, else
// what the registry has.
func (f *Finder) Find(ctx context.Context, name, of string, hcp *hyperv1.HostedControlPlane, access release.Access) (string, error) {
	explicit, err := Explicit(hcp.Annotations)
	if err != nil || explicit != nil {
		return explicit[name], err
	}
	candidates, err := Candidates(name, of, hcp.Annotations[hyperv1.OLMCatalogRegistryOverridesAnnotation])
	if err != nil {
		return "", err
	}
	a := f.search(ctx, candidates, access)
	select {
	case <-a.ready:
		return a.image, a.err
	default:
	}
	if a.former != "" {
		return a.former, nil
	}
	select {
	case <-a.ready:
		return a.image, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("look for catalog %s: %w", name, ctx.Err())
	case <-time.After(patience):
		return "", fmt.Errorf("the registry of catalog %s, %s, has not answered yet", name, candidates[0])
	}
}

// search begins a search, or joins one.
func (f *Finder) search(ctx context.Context, candidates []string, access release.Access) *answer {
	key := strings.Join(candidates, ",") + "|" + string(access.PullSecret)
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.answers[key]
	if ok && (known.until.IsZero() || time.Now().Before(known.until)) {
		return known
	}
	if f.answers == nil || len(f.answers) >= remembered {
		f.answers = map[string]*answer{}
	}
	a := &answer{ready: make(chan struct{})}
	if ok {
		a.former = known.image
	}
	f.answers[key] = a
	go f.ask(context.WithoutCancel(ctx), a, candidates, access)
	return a
}

func (f *Finder) ask(ctx context.Context, a *answer, candidates []string, access release.Access) {
	ctx, cancel := context.WithTimeout(ctx, searchLimit)
	defer cancel()
	image, err := f.first(ctx, candidates, access)
	f.mu.Lock()
	defer f.mu.Unlock()
	a.image, a.err, a.until = image, err, time.Now().Add(lifetime)
	if err != nil {
		a.until = time.Now().Add(failureLifetime)
		if a.former != "" {
			// A registry that is away takes nothing from a catalog that runs.
			a.image, a.err = a.former, nil
		}
	}
	close(a.ready)
}

// first is the first candidate that exists. A registry that does not answer ends the search: an older catalog must not take the place of one
// that is away for a moment.
func (f *Finder) first(ctx context.Context, candidates []string, access release.Access) (string, error) {
	var failures []error
	for _, image := range candidates {
		digest, err := f.Digest(ctx, image, access)
		if err == nil {
			return image[:strings.LastIndex(image, ":v")] + "@" + digest, nil
		}
		failures = append(failures, err)
		var failure *release.Error
		if !errors.As(err, &failure) || failure.Reason != release.ReasonNotFound && failure.Reason != release.ReasonUnauthorized {
			break
		}
	}
	return "", errors.Join(failures...)
}
