package release

import "context"

// An OpenShift release takes some 50 KiB, and each pull secret has its own copy: room for a few hundred.
const cacheBytes = 16 << 20

// Cache remembers releases, bounded by the memory they take.
type Cache struct {
	source Provider
	memory[*Release]
}

var _ Provider = &Cache{}

// NewCache puts a bounded cache in front of source.
func NewCache(source Provider) *Cache {
	return &Cache{source: source, memory: newMemory(cacheBytes, (*Release).size)}
}

// NewProvider is what programs use: the registry reader, with proxies from the environment, behind a cache.
func NewProvider() Provider { return NewCache(Reader{}) }

// Lookup implements Provider.
func (c *Cache) Lookup(ctx context.Context, image string, access Access) (*Release, error) {
	return c.lookup(ctx, image, access, c.source.Lookup)
}

// size estimates the memory of a release: its texts, and what maps and headers take for each.
func (r *Release) size() int {
	const perStream = 2048
	return perStream*(2+len(r.Streams)) + sizeOf(r.Images) + sizeOf(r.ComponentVersions)
}

func sizeOf(texts map[string]string) int {
	const perEntry = 80
	total := 0
	for key, text := range texts {
		total += perEntry + len(key) + len(text)
	}
	return total
}
