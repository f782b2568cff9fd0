//go:build !race

package release

import (
	"archive/tar"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The limits of docs/benchmarks.md.
const (
	cachedLimit   = time.Millisecond
	registryLimit = time.Second
	memoryLimit   = 50 << 20
)

// openShiftPayload is of the size of OpenShift's: 190 images, stream metadata for all clouds, and manifests of some MiB in the layer
// on top of a base of 8 MiB that need not be read.
func openShiftPayload(t testing.TB) string {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	noise := func(bytes int) string {
		raw := make([]byte, bytes)
		if _, err := source.Read(raw); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", raw[:bytes/2])
	}
	var tags []string
	for i := range 190 {
		tags = append(tags, fmt.Sprintf(`{"name":"component-%d","annotations":{"io.openshift.build.commit.id":"%s","io.openshift.build.source-location":"https://github.com/openshift/component-%d","io.openshift.build.versions":"kubernetes=1.34.2"},"from":{"kind":"DockerImage","name":"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:%s"}}`,
			i, noise(40), i, noise(64)))
	}
	stream := `{"stream":"rhel-9","architectures":{"x86_64":{"rhel-coreos-extensions":{"marketplace":{"azure":{"no-purchase-plan":{"hyperVGen2":{"publisher":"azureopenshift","offer":"aro4","sku":"aro_421","version":"421.1.1"}}}}},"images":{"aws":"` + noise(200<<10) + `"}}}}`
	top := []tar.Header{
		{Name: referencesFile, Uname: `{"kind":"ImageStream","metadata":{"name":"4.21.0"},"spec":{"tags":[` + strings.Join(tags, ",") + `]}}`},
		{Name: bootImagesFile, Uname: "data:\n  stream: '" + stream + "'\n"},
	}
	for i := range 800 {
		top = append(top, tar.Header{Name: fmt.Sprintf("release-manifests/0000_50_%d.yaml", i), Uname: noise(5 << 10)})
	}
	image := imageOf(t, map[string]string{"usr/bin/base": noise(8 << 20)})
	image, err := mutate.Append(image, mutate.Addendum{Layer: rawLayer(zipped(t, tarred(t, top...)))})
	if err != nil {
		t.Fatal(err)
	}
	return store(t, image)
}

// TestFigures keeps the promises about time and memory; the race detector has its own idea of both. What is allocated in all is more
// than what is held at any time. Of three looks at the registry the best counts: tests of other packages run at the same time.
func TestFigures(t *testing.T) {
	reference := openShiftPayload(t)
	cache := NewCache(Reader{})
	var took time.Duration
	var memory uint64
	for range 3 {
		before, start := allocated(), time.Now()
		found, err := cache.Lookup(t.Context(), reference, Access{Recheck: true})
		if err != nil || len(found.Images) != 190 || found.StreamMetadata.AzureMarketplace("amd64", false) == nil {
			t.Fatalf("got %+v, %v", found, err)
		}
		if once := time.Since(start); took == 0 || once < took {
			took = once
		}
		memory = max(memory, allocated()-before)
	}
	if took > registryLimit || memory > memoryLimit {
		t.Errorf("a payload in the registry: %s, %d MiB", took, memory>>20)
	}
	const times = 100
	start := time.Now()
	for range times {
		if _, err := cache.Lookup(t.Context(), reference, Access{}); err != nil {
			t.Fatal(err)
		}
	}
	cached := time.Since(start) / times
	if cached > cachedLimit {
		t.Errorf("a cached payload: %s", cached)
	}
	t.Logf("in the registry: %s, %d MiB; cached: %s", took, memory>>20, cached)
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

func BenchmarkRegistry(b *testing.B) {
	reference := openShiftPayload(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Reader{}).Lookup(b.Context(), reference, Access{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCached(b *testing.B) {
	reference, cache := openShiftPayload(b), NewCache(Reader{})
	if _, err := cache.Lookup(b.Context(), reference, Access{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cache.Lookup(b.Context(), reference, Access{}); err != nil {
			b.Fatal(err)
		}
	}
}
