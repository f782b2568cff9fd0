package netpol

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// The rules are run on packets, by an interpreter of the few statements that they use, and the outcome is compared with what the
// documentation of NetworkPolicy says about the same packets.

type packet struct {
	from, to string
	protocol corev1.Protocol
	port     int
}

// passes runs the chains that a forwarded packet of a new connection meets.
func passes(t *rapid.T, rules string, p packet) bool {
	chains := map[string][]string{}
	for line := range strings.Lines(rules) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "add rule "+Table+" "); ok {
			name, rule, _ := strings.Cut(rest, " ")
			chains[name] = append(chains[name], rule)
		}
	}
	for _, hook := range []string{"egress", "ingress"} {
		if verdict(t, chains, hook, p) == "reject" {
			return false
		}
	}
	return true
}

func verdict(t *rapid.T, chains map[string][]string, chain string, p packet) string {
	for _, line := range chains[chain] {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "ct state"):
		case words[0] == "reject":
			return "reject"
		case words[0] == "jump":
			if v := verdict(t, chains, words[1], p); v != "" {
				return v
			}
		case len(words) > 3 && words[2] == "vmap":
			address := map[string]string{"saddr": p.from, "daddr": p.to}[words[1]]
			inside := strings.TrimSuffix(strings.SplitN(line, "{", 2)[1], "}")
			for element := range strings.SplitSeq(inside, ",") {
				if at, target, _ := strings.Cut(strings.TrimSpace(element), " : goto "); at == address {
					return verdict(t, chains, target, p)
				}
			}
		case matchesAll(t, line, p):
			return "accept"
		}
	}
	return ""
}

// matchesAll reads the matches of a line that ends in accept.
func matchesAll(t *rapid.T, line string, p packet) bool {
	rest := strings.TrimSpace(strings.TrimSuffix(line, "accept"))
	next := func() string {
		word, tail, _ := strings.Cut(rest, " ")
		rest = tail
		return word
	}
	for rest != "" {
		switch first, second := next(), next(); {
		case first == "ip":
			value := next()
			negated := value == "!="
			if negated {
				value = next()
			}
			if value == "{" {
				var tail string
				value, tail, _ = strings.Cut(rest, "}")
				rest = strings.TrimSpace(tail)
			}
			address := netip.MustParseAddr(map[string]string{"saddr": p.from, "daddr": p.to}[second])
			inside := slices.ContainsFunc(strings.Split(value, ","), func(s string) bool {
				s = strings.TrimSpace(s)
				prefix, err := netip.ParsePrefix(s)
				return err == nil && prefix.Contains(address) || s == address.String()
			})
			if inside == negated {
				return false
			}
		case first == "meta" && second == "l4proto":
			if next() != strings.ToLower(string(p.protocol)) {
				return false
			}
		case second == "dport":
			low, high, isRange := strings.Cut(next(), "-")
			if !isRange {
				high = low
			}
			from, _ := strconv.Atoi(low)
			to, _ := strconv.Atoi(high)
			if first != strings.ToLower(string(p.protocol)) || p.port < from || p.port > to {
				return false
			}
		default:
			t.Fatalf("the interpreter does not know %q of %q", first+" "+second, line)
		}
	}
	return true
}

// allowed says it as the documentation does: a pod that some policy of a direction selects is isolated in it, and then every connection has to be
// allowed by one of the rules of one of these policies; both ends have to agree.
func allowed(s State, p packet) bool {
	at := func(ip string) *Pod {
		i := slices.IndexFunc(s.Pods, func(pod Pod) bool { return pod.IP == ip })
		if i < 0 {
			return nil
		}
		return &s.Pods[i]
	}
	from, to := at(p.from), at(p.to)
	isolated, egress := false, false
	for _, policy := range s.Policies {
		if from == nil || !selects(policy, from, networkingv1.PolicyTypeEgress) {
			continue
		}
		isolated = true
		for _, r := range policy.Spec.Egress {
			egress = egress || peerFits(s, policy.Namespace, r.To, p.to, to) && portFits(r.Ports, p, to)
		}
	}
	if isolated && !egress {
		return false
	}
	isolated, ingress := false, false
	for _, policy := range s.Policies {
		if to == nil || !selects(policy, to, networkingv1.PolicyTypeIngress) {
			continue
		}
		isolated = true
		for _, r := range policy.Spec.Ingress {
			ingress = ingress || peerFits(s, policy.Namespace, r.From, p.from, from) && portFits(r.Ports, p, to)
		}
	}
	return !isolated || ingress
}

func fits(selector *metav1.LabelSelector, set labels.Set) bool {
	for k, v := range selector.MatchLabels {
		if set[k] != v {
			return false
		}
	}
	return !slices.ContainsFunc(selector.MatchExpressions, func(without metav1.LabelSelectorRequirement) bool {
		return slices.Contains(without.Values, set[without.Key]) // the only operator that is drawn is NotIn
	})
}

func selects(policy networkingv1.NetworkPolicy, pod *Pod, kind networkingv1.PolicyType) bool {
	return policy.Namespace == pod.Namespace && slices.Contains(policy.Spec.PolicyTypes, kind) && fits(&policy.Spec.PodSelector, pod.Labels)
}

func peerFits(s State, namespace string, peers []networkingv1.NetworkPolicyPeer, ip string, pod *Pod) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			within := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(ip)) }
			return within(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, within)
		case pod == nil:
			return false
		case p.NamespaceSelector != nil && !fits(p.NamespaceSelector, s.Namespaces[pod.Namespace]), p.NamespaceSelector == nil && pod.Namespace != namespace:
			return false
		}
		return p.PodSelector == nil || fits(p.PodSelector, pod.Labels)
	})
}

func portFits(ports []networkingv1.NetworkPolicyPort, p packet, server *Pod) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(port networkingv1.NetworkPolicyPort) bool {
		protocol := corev1.ProtocolTCP
		if port.Protocol != nil {
			protocol = *port.Protocol
		}
		switch {
		case protocol != p.protocol:
			return false
		case port.Port == nil:
			return true
		case port.Port.Type == intstr.String:
			return server != nil && slices.ContainsFunc(server.Ports, func(c corev1.ContainerPort) bool {
				return c.Name == port.Port.StrVal && c.Protocol == protocol && int(c.ContainerPort) == p.port
			})
		case port.EndPort != nil:
			return p.port >= int(port.Port.IntVal) && p.port <= int(*port.EndPort)
		}
		return p.port == int(port.Port.IntVal)
	})
}

const outside = "192.0.2.7"

func drawSelector(r *rapid.T, key string) metav1.LabelSelector {
	v := rapid.SampledFrom([]string{"", "a", "b", "not a"}).Draw(r, key)
	if without, ok := strings.CutPrefix(v, "not "); ok {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{without}}}}
	}
	if v != "" {
		return metav1.LabelSelector{MatchLabels: map[string]string{key: v}}
	}
	return metav1.LabelSelector{}
}

func drawPeers(r *rapid.T, blocks bool) []networkingv1.NetworkPolicyPeer {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) networkingv1.NetworkPolicyPeer {
		pods, namespaces := drawSelector(r, "app"), drawSelector(r, "group")
		switch kind := rapid.IntRange(0, 3).Draw(r, "kind of peer"); {
		case kind == 0 && blocks:
			b := &networkingv1.IPBlock{CIDR: rapid.SampledFrom([]string{"0.0.0.0/0", "10.200.0.0/24", "10.200.0.2/32", "192.0.2.0/24", "fd00::/8"}).Draw(r, "block")}
			if b.CIDR == "0.0.0.0/0" {
				b.Except = rapid.SliceOfN(rapid.SampledFrom([]string{"10.200.0.2/31", "192.0.2.0/24"}), 0, 2).Draw(r, "except")
			}
			return networkingv1.NetworkPolicyPeer{IPBlock: b}
		case kind == 1:
			return networkingv1.NetworkPolicyPeer{NamespaceSelector: &namespaces}
		case kind == 2:
			return networkingv1.NetworkPolicyPeer{NamespaceSelector: &namespaces, PodSelector: &pods}
		}
		return networkingv1.NetworkPolicyPeer{PodSelector: &pods}
	}), 0, 2).Draw(r, "peers")
}

func drawPorts(r *rapid.T, names bool) []networkingv1.NetworkPolicyPort {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) networkingv1.NetworkPolicyPort {
		var p networkingv1.NetworkPolicyPort
		if protocol := rapid.SampledFrom([]corev1.Protocol{"", corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(r, "protocol"); protocol != "" {
			p.Protocol = &protocol
		}
		number := intstr.FromInt32(rapid.SampledFrom([]int32{80, 8080}).Draw(r, "number"))
		switch kind := rapid.IntRange(0, 3).Draw(r, "kind of port"); {
		case kind == 0 && names:
			name := intstr.FromString("web")
			p.Port = &name
		case kind == 1:
		case kind == 2:
			end := int32(8079)
			first := intstr.FromInt32(80)
			p.Port, p.EndPort = &first, &end
		default:
			p.Port = &number
		}
		return p
	}), 0, 2).Draw(r, "ports")
}

func drawPolicy(r *rapid.T) networkingv1.NetworkPolicy {
	var p networkingv1.NetworkPolicy
	p.Namespace, p.Name = rapid.SampledFrom([]string{"demo", "other"}).Draw(r, "namespace"), "policy"
	p.Spec.PodSelector = drawSelector(r, "app")
	p.Spec.PolicyTypes = rapid.SampledFrom([][]networkingv1.PolicyType{{"Ingress"}, {"Egress"}, {"Ingress", "Egress"}}).Draw(r, "types")
	for range rapid.IntRange(0, 3).Draw(r, "rules") {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: drawPeers(r, true), Ports: drawPorts(r, true)})
		names := rapid.Bool().Draw(r, "names") // what a name means at an address that need be no pod's, Kubernetes does not say
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: drawPeers(r, !names), Ports: drawPorts(r, names)})
	}
	return p
}

func TestPacketsMeetWhatPoliciesSay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := State{Namespaces: map[string]labels.Set{"demo": {"group": "a"}, "other": {"group": "b"}}}
		for i := range rapid.IntRange(2, 5).Draw(r, "pods") {
			p := pod(rapid.SampledFrom([]string{"demo", "other"}).Draw(r, "namespace"), fmt.Sprintf("10.200.0.%d", i+2), rapid.SampledFrom([]string{"a", "b"}).Draw(r, "app"))
			if number := rapid.SampledFrom([]int32{80, 8080, 0}).Draw(r, "web"); number != 0 {
				protocol := rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(r, "web's protocol")
				p.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: number, Protocol: protocol}}
			}
			s.Pods = append(s.Pods, p)
		}
		s.Policies = rapid.SliceOfN(rapid.Custom(drawPolicy), 1, 3).Draw(r, "policies")
		table, err := s.Rules()
		if err != nil {
			r.Fatal(err)
		}
		rules := table.String()
		addresses := []string{outside}
		for _, p := range s.Pods {
			addresses = append(addresses, p.IP)
		}
		for _, from := range addresses {
			for _, to := range addresses {
				for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
					for _, port := range []int{79, 80, 81, 8079, 8080} {
						p := packet{from, to, protocol, port}
						if got, want := passes(r, rules, p), allowed(s, p); got != want {
							r.Fatalf("%+v passes: %v, want %v\n%s", p, got, want, rules)
						}
					}
				}
			}
		}
	})
}

// nft takes a comment of up to 128 characters, and refuses the whole table for a longer one: then no policy would hold any more.
func TestLongNames(t *testing.T) {
	s := cluster(t, `{podSelector: {}, policyTypes: [Ingress]}`)
	s.Policies[0].Name = strings.Repeat("long-", 50)
	rules, err := s.Rules()
	if err != nil {
		t.Fatal(err)
	}
	_, comment, found := strings.Cut(rules.String(), ` comment "`)
	if comment, _, _ = strings.Cut(comment, `"`); !found || len(comment) != 128 || !strings.HasPrefix(comment, "demo/long-") {
		t.Errorf("the comment of %d characters is %q", len(comment), comment)
	}
	accepted(t, rules)
}
