package dns

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// Server listens on UDP and TCP.
type Server struct {
	udp, tcp *dns.Server
}

// Listen binds the address; Serve answers.
func Listen(addr string, r *Resolver) (*Server, error) {
	// TCP first: connections take its free ports, so one that is free for UDP is more likely to be taken there.
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for DNS: %w", err)
	}
	pc, err := net.ListenPacket("udp", ln.Addr().String())
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("listening for DNS: %w", err)
	}
	return &Server{udp: &dns.Server{PacketConn: pc, Handler: r}, tcp: &dns.Server{Listener: ln, Handler: r}}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.udp.PacketConn.LocalAddr().String() }

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 2)
	for _, srv := range []*dns.Server{s.udp, s.tcp} {
		go func() { failed <- srv.ActivateAndServe() }()
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serving DNS: %w", err)
	case <-ctx.Done():
		return errors.Join(s.udp.PacketConn.Close(), s.tcp.Listener.Close())
	}
}

// ServeDNS answers one message.
func (r *Resolver) ServeDNS(w dns.ResponseWriter, req *dns.Msg) {
	out := new(dns.Msg).SetReply(req)
	out.RecursionAvailable = true
	if len(req.Question) != 1 || req.Question[0].Qclass != dns.ClassINET {
		out.Rcode = dns.RcodeNotImplemented
		_ = w.WriteMsg(out)
		return
	}
	a := r.lookup(req.Question[0], vnetOf(req))
	out.Rcode, out.Answer, out.Ns, out.Authoritative = a.rcode, a.records, a.authority, a.authoritative
	size := dns.MinMsgSize
	if opt := req.IsEdns0(); opt != nil {
		out.SetEdns0(opt.UDPSize(), false)
		size = max(size, int(opt.UDPSize()))
	}
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		out.Truncate(size)
	}
	_ = w.WriteMsg(out)
}

func vnetOf(req *dns.Msg) string {
	opt := req.IsEdns0()
	if opt == nil {
		return ""
	}
	for _, o := range opt.Option {
		if l, ok := o.(*dns.EDNS0_LOCAL); ok && l.Code == feed.DNSOptionVNet {
			return string(l.Data)
		}
	}
	return ""
}
