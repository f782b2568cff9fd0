package tunnelproxy

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// lookupTimeout bounds the question for one name, so that the next one who may know it is still asked.
const lookupTimeout = 5 * time.Second

// names knows the addresses of names in the guest.
type names struct {
	guest kubernetes.Interface
	dial  dialFunc
	// fromGuest and fromManagement: who is asked for what no Service is called.
	fromGuest, fromManagement, preferIPv4 bool
	management                            *net.Resolver
}

// resolve finds an address; empty when nobody knows one, and the other end of the tunnel may.
func (n *names) resolve(ctx context.Context, host string) string {
	for _, ask := range []func(context.Context, string) (string, error){n.service, n.inGuest, n.inManagement} {
		attempt, cancel := context.WithTimeout(ctx, lookupTimeout)
		address, err := ask(attempt, host)
		cancel()
		if err == nil && address != "" {
			return address
		}
	}
	return ""
}

// service is the address of the guest's Service that the name means: NAME.NAMESPACE.svc, with or without the cluster's domain.
func (n *names) service(ctx context.Context, host string) (string, error) {
	parts := strings.Split(host, ".")
	if len(parts) < 3 || parts[2] != "svc" || len(parts) > 3 && strings.Join(parts[3:], ".") != "cluster.local" {
		return "", nil
	}
	found, err := n.guest.CoreV1().Services(parts[1]).Get(ctx, parts[0], metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read Service %s/%s: %w", parts[1], parts[0], err)
	}
	if net.ParseIP(found.Spec.ClusterIP) == nil {
		return "", nil // A headless one: its DNS knows.
	}
	return found.Spec.ClusterIP, nil
}

// inGuest asks the guest's DNS, through the tunnel and by TCP, which is all that it carries.
func (n *names) inGuest(ctx context.Context, host string) (string, error) {
	if !n.fromGuest {
		return "", nil
	}
	dns, err := n.guest.CoreV1().Services(contract.DNSNamespace).Get(ctx, "dns-default", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the guest's DNS: %w", err)
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return n.dial(ctx, net.JoinHostPort(dns.Spec.ClusterIP, "53"))
	}}
	return n.lookup(ctx, resolver, host)
}

func (n *names) inManagement(ctx context.Context, host string) (string, error) {
	if !n.fromManagement {
		return "", nil
	}
	return n.lookup(ctx, n.management, host)
}

func (n *names) lookup(ctx context.Context, resolver *net.Resolver, host string) (string, error) {
	// The dot keeps the search domains of this pod out of it.
	found, err := resolver.LookupIP(ctx, "ip", strings.TrimSuffix(host, ".")+".")
	if err != nil {
		return "", err
	}
	return n.choose(found), nil
}

func (n *names) choose(found []net.IP) string {
	for _, ip := range found {
		if !n.preferIPv4 || ip.To4() != nil {
			return ip.String()
		}
	}
	if len(found) > 0 {
		return found[0].String()
	}
	return ""
}
