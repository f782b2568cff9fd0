package azure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/hypervisor"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/blob"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/dns"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/graph"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/keyvault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/proxy"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// Run serves until ctx ends. It is ready when its admin socket answers GET /ready.
func Run(ctx context.Context, c Config) error {
	s, err := Start(ctx, c)
	if err != nil {
		return err
	}
	return s.Wait()
}

// Server is a running embedded Azure.
type Server struct {
	cfg     resolved
	lock    *os.File
	store   *store.Store
	log     *access.Log
	faults  *fault.Injector
	tokens  *entra.Service
	arm     *arm.Server
	proxy   *proxy.Proxy
	dns     *dns.Server
	connect []net.Listener
	edge    net.Listener
	admin   net.Listener
	feed    *feedSource
	group   *errgroup.Group
}

// Start returns when everything listens. Ending ctx stops it.
func Start(ctx context.Context, c Config) (*Server, error) {
	cfg, err := c.resolve()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	if err := s.open(); err != nil {
		s.close()
		return nil, fmt.Errorf("starting the embedded Azure: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	s.group = g
	g.Go(func() error { return s.proxy.Run(ctx, s.connect, s.edge) })
	g.Go(func() error { return s.serveAdmin(ctx) })
	if s.dns != nil {
		g.Go(func() error { return s.dns.Serve(ctx) })
	}
	return s, nil
}

// Wait returns when the server has stopped.
func (s *Server) Wait() error {
	err := s.group.Wait()
	return errors.Join(err, s.close())
}

// ProxyAddr is where the CONNECT proxy listens.
func (s *Server) ProxyAddr() string { return s.connect[0].Addr().String() }

// Faults are the rules by which requests go wrong.
func (s *Server) Faults() *fault.Injector { return s.faults }

// DNSAddr is where the DNS server listens, "" without one.
func (s *Server) DNSAddr() string {
	if s.dns == nil {
		return ""
	}
	return s.dns.Addr()
}

func (s *Server) close() error {
	var errs []error
	for _, l := range append(s.connect, s.edge, s.admin) {
		if l != nil {
			_ = l.Close() // those that served are closed already
		}
	}
	if s.arm != nil {
		s.arm.Close()
	}
	if s.tokens != nil {
		s.tokens.Close()
	}
	if s.faults != nil {
		errs = append(errs, s.faults.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

func (s *Server) open() error {
	if err := os.MkdirAll(s.cfg.Dir, 0o700); err != nil {
		return err
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	var err error
	if s.log, err = access.Open(s.cfg.Dir); err != nil {
		return err
	}
	if s.store, err = store.Open(filepath.Join(s.cfg.Dir, "state")); err != nil {
		return err
	}
	if s.faults, err = fault.Open(s.cfg.FaultFile, s.exists, s.unseen()); err != nil {
		return err
	}
	minter, err := proxy.LoadMinter(s.cfg.CACert, s.cfg.CAKey)
	if err != nil {
		return err
	}
	if err := s.buildPlanes(minter); err != nil {
		return err
	}
	if err := s.seed(); err != nil {
		return err
	}
	return s.listen()
}

// unseen is what hides what has not spread, nil where everything shows at once.
func (s *Server) unseen() fault.Unseen {
	if !s.cfg.pace.Deferred() {
		return nil
	}
	return s.cfg.pace.Hides
}

// exists tells whether a path of the resource manager names a resource.
func (s *Server) exists(path string) bool {
	found := false
	s.store.View(func(tx *store.Tx) { found = tx.Get(store.ARM, strings.ToLower("/"+strings.Trim(path, "/"))) != nil })
	return found
}

// plane puts the log and the faults in front of a plane.
func (s *Server) plane(name string, h http.Handler) http.Handler {
	return s.log.Wrap(name, s.faults.Wrap(name, h))
}

// takeLock keeps a second server off the same journal.
func (s *Server) takeLock() error {
	f, err := os.OpenFile(filepath.Join(s.cfg.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return fmt.Errorf("another embedded Azure uses %s; stop it first, or choose another folder: %w", s.cfg.Dir, err)
	}
	s.lock = f
	return nil
}

func (s *Server) buildPlanes(minter *proxy.Minter) error {
	fetch, err := s.issuerFetcher()
	if err != nil {
		return err
	}
	identity, err := entra.New(s.cfg.Dir, s.cfg.Tenant, s.store, s.faults.Now, fetch, s.cfg.pace)
	if err != nil {
		return err
	}
	s.tokens = identity
	blobs, err := blob.New(filepath.Join(s.cfg.Dir, "blobs"), s.cfg.Tenant, s.store, identity)
	if err != nil {
		return err
	}
	s.feed = newFeedSource(s.store)
	consoles, err := blob.NewConsoles(s.cfg.Dir, func(vmID string) string { return hypervisor.Console(s.store, vmID) })
	if err != nil {
		return err
	}
	s.arm = arm.New(arm.Options{Subscription: s.cfg.Subscription, Tenant: s.cfg.Tenant, Location: s.cfg.Location, PublicIPs: s.cfg.publicIPs, Pace: s.cfg.pace,
		ProvisioningTimeout: s.cfg.ProvisioningTimeout, Boots: s.feed.read, ConsoleURL: consoles.URL}, s.store, identity)
	login := s.plane(fault.Entra, identity)
	hosts := proxy.Hosts{Forward: s.cfg.Forward, Local: map[string]http.Handler{
		"management.azure.com":      s.plane(fault.ARM, s.arm),
		"login.microsoftonline.com": login, "login.windows.net": login, "login.microsoft.com": login, "sts.windows.net": login,
		"graph.microsoft.com":    s.plane(fault.Graph, graph.New(s.store, identity, s.cfg.Tenant)),
		"*" + blob.Suffix:        s.plane(fault.Blob, blobs),
		"*" + blob.ConsoleSuffix: s.plane(fault.Blob, consoles),
		"*" + blob.WebSuffix:     s.plane(fault.Blob, blobs.Website()),
		"*" + keyvault.Suffix:    s.plane(fault.Vault, keyvault.New(s.cfg.Tenant, s.store, identity)),
	}}
	for _, service := range []string{"queue", "file", "table", "dfs"} {
		hosts.Local["*."+service+".core.windows.net"] = s.plane(fault.Blob, blob.Elsewhere(service))
	}
	resolver := dns.New(s.store, hosts.Known, s.cfg.edge)
	s.proxy = proxy.New(proxy.Config{Hosts: hosts, Minter: minter, Resolve: resolver.Addresses, Tunnels: s.cfg.tunnels, Log: s.log})
	if s.cfg.DNSAddr != "" {
		s.dns, err = dns.Listen(s.cfg.DNSAddr, resolver)
	}
	return err
}

// maxIssuerDocument bounds what is read from an issuer.
const maxIssuerDocument = 1 << 20

// fetcherAgent is how the access log names the token service where it reads the documents of an issuer.
const fetcherAgent = "entra-issuer-fetch"

// issuerFetcher reads the documents of an issuer over HTTPS, wherever the sandbox's names lead: our own blobs are met as any client meets them.
func (s *Server) issuerFetcher() (entra.Fetch, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	ca, err := os.ReadFile(s.cfg.CACert)
	if err != nil {
		return nil, err
	}
	pool.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			return s.proxy.Dial(ctx, host, port)
		}}}
	return func(ctx context.Context, address string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("User-Agent", fetcherAgent)
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answered %s", address, resp.Status)
		}
		return io.ReadAll(io.LimitReader(resp.Body, maxIssuerDocument))
	}, nil
}

func (s *Server) listen() error {
	for _, addr := range append([]string{s.cfg.ProxyAddr}, s.cfg.ExtraProxyAddrs...) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		s.connect = append(s.connect, l)
	}
	var err error
	if s.cfg.EdgeAddr != "" {
		if s.edge, err = net.Listen("tcp", s.cfg.EdgeAddr); err != nil {
			return err
		}
	}
	// The lock says that a socket left here has no server any more.
	if err := os.Remove(s.cfg.AdminSocket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if s.admin, err = net.Listen("unix", s.cfg.AdminSocket); err != nil {
		return err
	}
	return os.Chmod(s.cfg.AdminSocket, 0o600) // and its folder lets nobody else in meanwhile
}
