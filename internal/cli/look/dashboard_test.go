package look

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/dashboard"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestDashboardIsLocal: the address that is printed leads in, the same one without its key does not, another machine finds nothing, and an
// interrupt ends it although a browser follows.
func TestDashboardIsLocal(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	as := &dashboard.Viewer{Client: surveytest.Client(broken()...).Build(), Logs: func(context.Context, string, string, string, bool) (string, error) { return "", errors.New("no log") }}
	o := dashboard.Options{
		Now: time.Now, Tick: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	}
	go func() { ended <- (&viewer{}).serve(ctx, as, o, write) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil || address.Hostname() != "127.0.0.1" || len(address.Query().Get("key")) < 20 {
		t.Fatalf("%q: %v", line, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(browser *http.Client, u string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(response.Body).ReadString('\n')
		return response, line
	}
	if response, _ := fetch(&http.Client{}, "http://"+address.Host+"/"); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the key: %s", response.Status)
	}
	browser := &http.Client{Jar: jar}
	if response, _ := fetch(browser, address.String()); response.StatusCode != http.StatusOK || response.Request.URL.RawQuery != "" {
		t.Errorf("with the key: %s at %s", response.Status, response.Request.URL)
	}
	if response, first := fetch(browser, "http://"+address.Host+"/live"); response.StatusCode != http.StatusOK || !strings.HasPrefix(first, "id: ") {
		t.Errorf("live: %s, %q", response.Status, first)
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&viewer{port: uint16(port)}).serve(ctx, as, o, io.Discard); err == nil || !strings.Contains(err.Error(), "--port "+address.Port()) {
		t.Errorf("a port that is taken gives %v", err)
	}
	// Whatever addresses this machine has, it listens on one.
	if listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.2:"+address.Port()); err != nil {
		t.Errorf("it listens on more than 127.0.0.1: %v", err)
	} else {
		_ = listener.Close()
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("an interrupt ends it with %v", err)
	}
}
