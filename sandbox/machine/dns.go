package machine

import (
	"io"
	"net"
	"time"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

const dnsTimeout = 5 * time.Second

// serveDNS answers 168.63.129.16 in a VNet by asking the DNS of the sandbox, which learns the network's id and so which private zones to show.
func serveDNS(ns *namespace, networkID, upstream string, log func(string, ...any)) ([]io.Closer, error) {
	listener, err := ns.listen(net.JoinHostPort(azureAddress, "53"))
	if err != nil {
		return nil, err
	}
	packets, err := ns.listenPacket(net.JoinHostPort(azureAddress, "53"))
	if err != nil {
		listener.Close()
		return nil, err
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		network := w.LocalAddr().Network()
		answer, err := forwardDNS(q, networkID, network, upstream)
		if err != nil {
			log("DNS: %v", err)
			answer = new(dns.Msg).SetRcode(q, dns.RcodeServerFailure)
		}
		_ = w.WriteMsg(answer) // the client asks again
	})
	for _, s := range []*dns.Server{{Listener: listener, Handler: handler}, {PacketConn: packets, Handler: handler}} {
		go func() { _ = s.ActivateAndServe() }() // ends when its socket is closed
	}
	return []io.Closer{listener, packets}, nil
}

func forwardDNS(q *dns.Msg, networkID, network, upstream string) (*dns.Msg, error) {
	ask := q.Copy()
	opt := ask.IsEdns0()
	asked := opt != nil
	if !asked {
		ask.SetEdns0(1232, false)
		opt = ask.IsEdns0()
	}
	opt.Option = append(opt.Option, &dns.EDNS0_LOCAL{Code: feed.DNSOptionVNet, Data: []byte(networkID)})
	client := &dns.Client{Net: network, Timeout: dnsTimeout}
	answer, _, err := client.Exchange(ask, upstream)
	if err != nil {
		return nil, err
	}
	if !asked { // a client that did not speak EDNS0 must not get it
		kept := answer.Extra[:0]
		for _, rr := range answer.Extra {
			if rr.Header().Rrtype != dns.TypeOPT {
				kept = append(kept, rr)
			}
		}
		answer.Extra = kept
		if network == "udp" {
			answer.Truncate(dns.MinMsgSize)
		}
	}
	return answer, nil
}
