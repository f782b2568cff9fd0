package images

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Images are built at the same time and share layers: whoever finds one finds it complete.
func TestImagesShareALayer(t *testing.T) {
	for range 50 {
		cache := t.TempDir()
		var wg sync.WaitGroup
		layers := make([]*fileLayer, 8)
		for i := range layers {
			wg.Go(func() {
				layer, err := (&Store{Dir: cache}).layer([]File{{Path: "etc/name", Text: "shared"}})
				if err != nil {
					t.Error(err)
				}
				layers[i] = layer
			})
		}
		wg.Wait()
		for _, layer := range layers {
			if layer == nil || len(layer.digest.Hex) != 64 || layer.digest != layers[0].digest || layer.size != layers[0].size {
				t.Fatalf("layers %+v and %+v", layer, layers[0])
			}
		}
	}
}

// A layer whose digest a crash cut short is built again.
func TestIncompleteLayer(t *testing.T) {
	cache, files := t.TempDir(), []File{{Path: "etc/name", Text: "x"}}
	whole, err := (&Store{Dir: cache}).layer(files)
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
	again, err := (&Store{Dir: cache}).layer(files)
	if err != nil || again.digest != whole.digest {
		t.Errorf("layer %+v, %v", again, err)
	}
}

// TestUnusedLayersGo lets a layer go that nobody asked for, and keeps one that was found again.
func TestUnusedLayersGo(t *testing.T) {
	store := &Store{Dir: t.TempDir()}
	paths := map[string]string{}
	make := func(text string) {
		layer, err := store.layer([]File{{Path: "file", Text: text, Mode: 0o644}})
		if err != nil {
			t.Fatal(err)
		}
		paths[text] = layer.path
	}
	make("old")
	make("found again")
	past := time.Now().Add(-2 * unusedFor)
	for _, path := range paths {
		if err := os.Chtimes(path+".sha256", past, past); err != nil {
			t.Fatal(err)
		}
	}
	make("found again")
	make("new")
	for text, want := range map[string]bool{"old": false, "found again": true, "new": true} {
		if _, there := readLayer(paths[text]); there != want {
			t.Errorf("layer %q is there: %v, want %v", text, there, want)
		}
		if _, err := os.Stat(paths[text]); (err == nil) != want {
			t.Errorf("file of layer %q: %v, want it there: %v", text, err, want)
		}
	}
}
