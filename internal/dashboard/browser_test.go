package dashboard

import (
	"context"
	"flag"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// browser has the page opened in Chromium, which takes seconds, and a machine that is not busy.
var browser = flag.Bool("browser", false, "open the page in headless Chromium")

// chromium runs a browser without a screen; it leaves the page after two seconds, since a page that follows is never done.
func chromium(t *testing.T, more ...string) []byte {
	t.Helper()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-proxy-server", "--user-data-dir=" + t.TempDir(), "--timeout=2000"}, more...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "chromium", args...).Output()
	if err != nil {
		t.Fatalf("chromium %v: %v", more, err)
	}
	return out
}

// TestInBrowser: the policy lets a browser run the script, which follows. With -update the pictures of the docs are made anew.
func TestInBrowser(t *testing.T) {
	if !*browser {
		t.Skip("the long tier runs it: -args -browser")
	}
	o := options(world()...)
	var followed atomic.Bool
	o.Tick = func(ctx context.Context) error { followed.Store(true); <-ctx.Done(); return ctx.Err() }
	server := httptest.NewUnstartedServer(nil)
	o.Hosts = []string{server.Listener.Addr().(*net.TCPAddr).String()}
	server.Config.Handler = New(o)
	server.Start()
	// A browser that follows does not end by itself.
	defer func() { server.CloseClientConnections(); server.Close() }()

	images, err := filepath.Abs("../../docs/images")
	if err != nil {
		t.Fatal(err)
	}
	if !*update {
		images = t.TempDir()
	}
	for name, args := range map[string][]string{
		"dashboard.png":         {"--window-size=1200,420", server.URL + "/"},
		"dashboard-cluster.png": {"--window-size=1200,1100", server.URL + "/clusters/clusters/demo/"},
		"dashboard-dark.png":    {"--window-size=1200,1100", "--blink-settings=preferredColorScheme=0", server.URL + "/clusters/clusters/demo/"},
		"dashboard-phone.png":   {"--window-size=500,1600", server.URL + "/clusters/clusters/demo/"},
	} {
		path := filepath.Join(images, name)
		chromium(t, append([]string{"--screenshot=" + path}, args...)...)
		if picture, err := os.Stat(path); err != nil || picture.Size() < 10<<10 {
			t.Errorf("%s is empty: %v", name, err)
		}
	}
	if !followed.Load() {
		t.Error("no browser follows: its script does not run")
	}
}
