package hollow

import (
	"context"
	"fmt"
	"time"

	"github.com/miekg/dns"
)

const resolveWithin = 5 * time.Second

// resolve asks the machine's name server for the IPv4 addresses of a name. The host's own resolver would have other answers.
func (m *Machine) resolve(ctx context.Context, host string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	conn, err := m.Dial(ctx, "udp", m.NameServer)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", host, err)
	}
	defer conn.Close()
	query := new(dns.Msg).SetQuestion(dns.Fqdn(host), dns.TypeA)
	answer, _, err := new(dns.Client).ExchangeWithConnContext(ctx, query, &dns.Conn{Conn: conn})
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", host, err)
	}
	var out []string
	for _, record := range answer.Answer { // the server follows aliases
		if a, ok := record.(*dns.A); ok {
			out = append(out, a.A.String())
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the name server knows no address of %s: %s", host, dns.RcodeToString[answer.Rcode])
	}
	return out, nil
}
