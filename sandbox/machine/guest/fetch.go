package guest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
	"golang.org/x/net/http/httpproxy"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
	maxConfig  = 64 << 20
)

// fetcher resolves what a configuration refers to. Like Ignition it retries server errors and lost connections for ever, and gives up at a client error.
type fetcher struct {
	log  func(format string, args ...any)
	http *http.Client
}

func newFetcher(log func(string, ...any)) *fetcher {
	return &fetcher{log: log, http: http.DefaultClient}
}

// resolve follows replace and merge of a configuration, depth first, and returns the result: what is referred to wins.
func (f *fetcher) resolve(ctx context.Context, cfg types.Config) (types.Config, error) {
	if err := f.configure(ctx, cfg); err != nil {
		return cfg, err
	}
	if replace := cfg.Ignition.Config.Replace; replace.Source != nil {
		next, err := f.config(ctx, replace)
		if err != nil {
			return cfg, fmt.Errorf("replacing the configuration: %w", err)
		}
		return f.resolve(ctx, next)
	}
	merged := cfg
	for _, source := range cfg.Ignition.Config.Merge {
		child, err := f.config(ctx, source)
		if err != nil {
			return cfg, fmt.Errorf("merging a configuration: %w", err)
		}
		child, err = f.resolve(ctx, child)
		if err != nil {
			return cfg, err
		}
		merged = v3_4.Merge(merged, child)
	}
	return merged, nil
}

func (f *fetcher) config(ctx context.Context, source types.Resource) (types.Config, error) {
	raw, err := f.resource(ctx, source)
	if err != nil {
		return types.Config{}, err
	}
	return parseConfig(raw)
}

func parseConfig(raw []byte) (types.Config, error) {
	cfg, report, err := v3_4.ParseCompatibleVersion(raw)
	if err != nil {
		return cfg, fmt.Errorf("invalid Ignition configuration: %w: %s", err, report.String())
	}
	return cfg, nil
}

// configure makes the client trust the configuration's certificate authorities and use its proxy.
func (f *fetcher) configure(ctx context.Context, cfg types.Config) error {
	authorities, proxy := cfg.Ignition.Security.TLS.CertificateAuthorities, cfg.Ignition.Proxy
	if len(authorities) == 0 && proxy.HTTPProxy == nil && proxy.HTTPSProxy == nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return fmt.Errorf("reading the machine's trusted roots: %w", err)
	}
	for _, ca := range authorities {
		pem, err := f.resource(ctx, ca)
		if err != nil {
			return fmt.Errorf("reading a certificate authority: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return errors.New("a certificate authority of the configuration holds no PEM certificate")
		}
	}
	f.http = &http.Client{Transport: &http.Transport{
		Proxy:                 proxyOf(proxy),
		TLSClientConfig:       &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout: 10 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
	}}
	return nil
}

func proxyOf(p types.Proxy) func(*http.Request) (*url.URL, error) {
	hosts := make([]string, 0, len(p.NoProxy))
	for _, h := range p.NoProxy {
		hosts = append(hosts, string(h))
	}
	c := httpproxy.Config{HTTPProxy: deref(p.HTTPProxy), HTTPSProxy: deref(p.HTTPSProxy), NoProxy: strings.Join(hosts, ",")}
	choose := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// resource fetches, verifies and unpacks one source.
func (f *fetcher) resource(ctx context.Context, r types.Resource) ([]byte, error) {
	source := deref(r.Source)
	if source == "" {
		return nil, nil
	}
	var data []byte
	var err error
	switch {
	case strings.HasPrefix(source, "data:"):
		var parsed *dataurl.DataURL
		if parsed, err = dataurl.DecodeString(source); err == nil {
			data = parsed.Data
		}
	case strings.HasPrefix(source, "http://"), strings.HasPrefix(source, "https://"):
		data, err = f.retry(ctx, source, r.HTTPHeaders)
	default:
		err = fmt.Errorf("source %q: only data, http and https are supported by the embedded virtual machine", source)
	}
	if err != nil {
		return nil, err
	}
	if err := verify(data, deref(r.Verification.Hash)); err != nil {
		return nil, fmt.Errorf("source %.80s: %w", source, err)
	}
	if deref(r.Compression) != "gzip" {
		return data, nil
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("source %.80s: %w", source, err)
	}
	return io.ReadAll(io.LimitReader(zipped, maxConfig))
}

func verify(data []byte, want string) error {
	if want == "" {
		return nil
	}
	kind, digest, _ := strings.Cut(want, "-")
	var got string
	switch kind {
	case "sha512":
		sum := sha512.Sum512(data)
		got = hex.EncodeToString(sum[:])
	case "sha256":
		sum := sha256.Sum256(data)
		got = hex.EncodeToString(sum[:])
	default:
		return fmt.Errorf("unknown hash %q", kind)
	}
	if got != digest {
		return fmt.Errorf("%s is %s, the configuration wants %s", kind, got, digest)
	}
	return nil
}

// errPermanent is an answer that trying again cannot change.
var errPermanent = errors.New("refused")

func (f *fetcher) retry(ctx context.Context, source string, headers types.HTTPHeaders) ([]byte, error) {
	pause := firstRetry
	for attempt := 1; ; attempt++ {
		data, err := f.get(ctx, source, headers)
		if err == nil {
			f.log("GET %s: attempt #%d: OK, %d bytes", source, attempt, len(data))
			return data, nil
		}
		if errors.Is(err, errPermanent) {
			return nil, err
		}
		f.log("GET %s: attempt #%d: %v", source, attempt, err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastRetry)
	}
}

func (f *fetcher) get(ctx context.Context, source string, headers types.HTTPHeaders) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPermanent, err)
	}
	req.Header.Set("User-Agent", "Ignition/2.20.0")
	req.Header.Set("Accept", "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1")
	for _, h := range headers {
		req.Header.Set(h.Name, deref(h.Value))
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500:
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNoContent:
		return nil, fmt.Errorf("GET %s: the server answered %s: %w", source, resp.Status, errPermanent)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxConfig))
}
