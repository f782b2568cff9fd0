package dns

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/delegation"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// queryTimeout bounds one DNS question.
const queryTimeout = 5 * time.Second

// AskNameServers asks a resolver which servers a domain is delegated to.
func AskNameServers(ctx context.Context, resolver, domain string) ([]string, error) {
	if resolver == "" {
		system, err := dns.ClientConfigFromFile("/etc/resolv.conf")
		if err != nil || len(system.Servers) == 0 {
			return nil, field.Errorf(FieldResolver, "the system names no DNS server; give %s HOST:PORT", FieldResolver)
		}
		resolver = net.JoinHostPort(system.Servers[0], system.Port)
	}
	if _, _, err := net.SplitHostPort(resolver); err != nil {
		return nil, FieldResolver.Wrong("%q is not HOST:PORT: %w", resolver, err)
	}
	question := new(dns.Msg).SetQuestion(dns.Fqdn(domain), dns.TypeNS)
	answer, _, err := (&dns.Client{Timeout: queryTimeout}).ExchangeContext(ctx, question, resolver)
	if err != nil {
		return nil, fmt.Errorf("asking %s for the name servers of %s: %w", resolver, domain, err)
	}
	var names []string
	for _, record := range answer.Answer {
		if ns, ok := record.(*dns.NS); ok {
			names = append(names, delegation.Host(ns.Ns))
		}
	}
	sort.Strings(names)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s knows no name servers of %s (%s)", resolver, domain, dns.RcodeToString[answer.Rcode])
	}
	return names, nil
}

// answersNode succeeds once DNS itself hands out the zone's name servers; caches may need the delegation's time to live.
func (d *zoneStack) answersNode(after string) *stack.Node {
	look := func(ctx context.Context) error {
		names, err := AskNameServers(ctx, d.Resolver, d.Zone)
		if err == nil && !slices.Equal(names, d.nameServers()) {
			err = fmt.Errorf("DNS says %s, the zone's servers are %s", strings.Join(names, ", "), strings.Join(d.nameServers(), ", "))
		}
		return err
	}
	return &stack.Node{ID: "answers", Kind: "delegation in DNS", Name: d.Zone, DependsOn: []string{after},
		Observe: func(ctx context.Context) (stack.State, error) {
			if look(ctx) == nil {
				return stack.Current, nil
			}
			return stack.Missing, nil
		},
		Apply: func(ctx context.Context) error {
			deadline := time.Now().Add(d.DelegationWait)
			for {
				err := look(ctx)
				if err == nil || !time.Now().Before(deadline) {
					return notDelegated(d.Zone, err)
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(delegationPoll):
				}
			}
		}}
}

const delegationPoll = 5 * time.Second

func notDelegated(zone string, err error) error {
	if err == nil {
		return nil
	}
	return &failure.Error{Op: "verify the delegation of", Resource: zone, Cause: err.Error(), Kind: failure.Terminal,
		Remedy: fmt.Sprintf("the records are made; check that the parent zone is delegated itself, ask another server with %s HOST:PORT, wait longer with %s, and run the command again",
			FieldResolver, FieldDelegationWait)}
}
