package payload

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Images are built at the same time and share layers: whoever finds one finds it complete.
func TestImagesShareALayer(t *testing.T) {
	for range 50 {
		cache := t.TempDir()
		var wg sync.WaitGroup
		layers := make([]*fileLayer, 8)
		for i := range layers {
			wg.Go(func() {
				layer, err := cachedLayer(cache, []file{{Path: "etc/name", Text: "shared"}})
				if err != nil {
					t.Error(err)
				}
				layers[i] = layer
			})
		}
		wg.Wait()
		for _, layer := range layers {
			if layer == nil || len(layer.hash.Hex) != 64 || layer.hash != layers[0].hash || layer.size != layers[0].size {
				t.Fatalf("layers %+v and %+v", layer, layers[0])
			}
		}
	}
}

// A layer whose digest a crash cut short is built again.
func TestIncompleteLayer(t *testing.T) {
	cache, files := t.TempDir(), []file{{Path: "etc/name", Text: "x"}}
	whole, err := cachedLayer(cache, files)
	if err != nil {
		t.Fatal(err)
	}
	digests, err := filepath.Glob(filepath.Join(cache, "layers", "*.sha256"))
	if err != nil || len(digests) != 1 {
		t.Fatalf("digests %v, %v", digests, err)
	}
	if err := os.WriteFile(digests[0], nil, 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := cachedLayer(cache, files)
	if err != nil || again.hash != whole.hash {
		t.Errorf("layer %+v, %v", again, err)
	}
}
