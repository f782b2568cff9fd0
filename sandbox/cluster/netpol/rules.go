// Package netpol turns the NetworkPolicies of a cluster into a table of nftables, which every node loads. It is there because the
// programs that do so ask the kernel to queue packets to them, which not every kernel can.
package netpol

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/knftables"

	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

const (
	tableFamily = knftables.IPv4Family
	tableName   = "hypershift-policies"

	// Table is the nftables table that holds the rules, as "family name".
	Table = string(tableFamily) + " " + tableName
)

// Pod is what policies tell pods apart by. Pods of the host's network are none: policies do not concern them.
type Pod struct {
	Namespace string
	Labels    labels.Set
	IP        string
	Ports     []corev1.ContainerPort
}

// State is what the rules are made of.
type State struct {
	Namespaces map[string]labels.Set
	Pods       []Pod
	Policies   []networkingv1.NetworkPolicy
}

// direction says which address of a packet is the pod that a policy is about.
type direction struct {
	kind             networkingv1.PolicyType
	name             string
	own, other       string
	hooks            []hook
	portsAreOfTheOwn bool
}

// hook is where the kernel asks the rules of a direction; chain is what it asks.
type hook struct {
	chain string
	at    nftable.Hook
}

func filter(chain string, at knftables.BaseChainHook, priority knftables.BaseChainPriority) hook {
	return hook{chain, nftable.Hook{Type: knftables.FilterType, At: at, Priority: priority}}
}

// A pod's packets for an address of the node, where the cluster's API server listens, are not forwarded: they are the node's input.
var directions = []direction{
	{networkingv1.PolicyTypeEgress, "egress", "saddr", "daddr",
		[]hook{filter("egress", knftables.ForwardHook, "filter+10"), filter("egress-to-node", knftables.InputHook, "filter+10")}, false},
	{networkingv1.PolicyTypeIngress, "ingress", "daddr", "saddr", []hook{filter("ingress", knftables.ForwardHook, "filter+11")}, true},
}

// Rules is the table's whole content. What the node itself sends passes no hook of it: Kubernetes wants a node to reach its
// pods. What is accepted in one direction is still looked at in the other, which has a hook of its own.
func (s State) Rules() (*nftable.Table, error) {
	table := nftable.New(tableFamily, tableName)
	for _, d := range directions {
		if err := s.addDirection(table, d); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// addDirection adds a chain for each policy, one for each set of policies that a pod has, and the hooks that lead there.
func (s State) addDirection(table *nftable.Table, d direction) error {
	chainsOf := map[string][]string{} // address of a pod: the chains of its policies
	for i, policy := range s.Policies {
		if !slices.Contains(policy.Spec.PolicyTypes, d.kind) {
			continue
		}
		selected, err := s.selected(policy.Namespace, &policy.Spec.PodSelector)
		if err != nil {
			return fmt.Errorf("NetworkPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
		if len(selected) == 0 {
			continue
		}
		rules, err := s.rules(policy, d, selected)
		if err != nil {
			return fmt.Errorf("NetworkPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
		chain := fmt.Sprintf("%s-policy-%d", d.name, i)
		// nft refuses the whole table for a comment that is too long
		comment := fmt.Sprintf("%.*s", knftables.CommentLengthMax, policy.Namespace+"/"+policy.Name)
		table.Add(&knftables.Chain{Name: chain, Comment: &comment})
		table.Rules(chain, rules...)
		for _, pod := range selected {
			chainsOf[pod.IP] = append(chainsOf[pod.IP], chain)
		}
	}
	sets, elements := map[string]string{}, []string{}
	for _, ip := range slices.Sorted(maps.Keys(chainsOf)) {
		policies := strings.Join(chainsOf[ip], " ")
		if sets[policies] == "" {
			sets[policies] = fmt.Sprintf("%s-pods-%d", d.name, len(sets))
			table.Chain(sets[policies])
			for _, chain := range chainsOf[ip] {
				table.Rules(sets[policies], "jump "+chain)
			}
			table.Rules(sets[policies], "reject")
		}
		elements = append(elements, ip+" : goto "+sets[policies])
	}
	if len(elements) > 0 {
		for _, h := range d.hooks {
			table.Base(h.chain, h.at, "ct state established,related accept", fmt.Sprintf("ip %s vmap { %s }", d.own, strings.Join(elements, ", ")))
		}
	}
	return nil
}

// selected are the pods of a namespace that a selector means.
func (s State) selected(namespace string, selector *metav1.LabelSelector) ([]Pod, error) {
	return s.pods(func(ns string) bool { return ns == namespace }, selector)
}

func (s State) pods(inNamespace func(string) bool, selector *metav1.LabelSelector) ([]Pod, error) {
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	var pods []Pod
	for _, pod := range s.Pods {
		if inNamespace(pod.Namespace) && matches.Matches(pod.Labels) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// rules accept what the policy allows in a direction, one for each pair of a peer and a port.
func (s State) rules(policy networkingv1.NetworkPolicy, d direction, selected []Pod) ([]string, error) {
	type rule struct {
		peers []networkingv1.NetworkPolicyPeer
		ports []networkingv1.NetworkPolicyPort
	}
	var all []rule
	for _, r := range policy.Spec.Ingress {
		if d.portsAreOfTheOwn {
			all = append(all, rule{r.From, r.Ports})
		}
	}
	for _, r := range policy.Spec.Egress {
		if !d.portsAreOfTheOwn {
			all = append(all, rule{r.To, r.Ports})
		}
	}
	var out []string
	for _, r := range all {
		peers, err := s.peers(policy.Namespace, d, r.peers)
		if err != nil {
			return nil, err
		}
		for _, peer := range peers {
			servers := peer.pods
			if d.portsAreOfTheOwn {
				servers = selected
			}
			for _, port := range portMatches(r.ports, servers) {
				out = append(out, strings.Join(strings.Fields(peer.match+" "+port+" accept"), " "))
			}
		}
	}
	return out, nil
}

// peer is a match of the other side's address and the pods it can be.
type peer struct {
	match string
	pods  []Pod
}

// peers of a rule; a rule without any means everybody.
func (s State) peers(namespace string, d direction, list []networkingv1.NetworkPolicyPeer) ([]peer, error) {
	if len(list) == 0 {
		return []peer{{pods: s.Pods}}, nil
	}
	var out []peer
	for _, p := range list {
		if p.IPBlock != nil {
			if match := blockMatch(d.other, p.IPBlock); match != "" {
				out = append(out, peer{match: match})
			}
			continue
		}
		inNamespace := func(ns string) bool { return ns == namespace }
		if p.NamespaceSelector != nil {
			matches, err := metav1.LabelSelectorAsSelector(p.NamespaceSelector)
			if err != nil {
				return nil, err
			}
			inNamespace = func(ns string) bool { return matches.Matches(s.Namespaces[ns]) }
		}
		selector := p.PodSelector
		if selector == nil {
			selector = &metav1.LabelSelector{}
		}
		pods, err := s.pods(inNamespace, selector)
		if err != nil {
			return nil, err
		}
		if len(pods) > 0 {
			out = append(out, peer{"ip " + d.other + " " + addresses(pods), pods})
		}
	}
	return out, nil
}

// blockMatch is a block of addresses without its exceptions; the cluster has no other family than IPv4.
func blockMatch(side string, block *networkingv1.IPBlock) string {
	if prefix, err := netip.ParsePrefix(block.CIDR); err != nil || !prefix.Addr().Is4() {
		return ""
	}
	match := "ip " + side + " " + block.CIDR
	for _, except := range block.Except {
		match += " ip " + side + " != " + except
	}
	return match
}

func addresses(pods []Pod) string {
	var list []string
	for _, pod := range pods {
		list = append(list, pod.IP)
	}
	slices.Sort(list)
	return "{ " + strings.Join(slices.Compact(list), ", ") + " }"
}

// portMatches are the matches of a rule's ports, of which none means all. A port's name means what the servers call so.
func portMatches(ports []networkingv1.NetworkPolicyPort, servers []Pod) []string {
	if len(ports) == 0 {
		return []string{""}
	}
	var matches []string
	for _, p := range ports {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		name := strings.ToLower(string(protocol))
		switch {
		case p.Port == nil:
			matches = append(matches, "meta l4proto "+name)
		case p.Port.Type == intstr.String:
			matches = append(matches, namedMatches(p.Port.StrVal, protocol, servers)...)
		case p.EndPort != nil:
			matches = append(matches, fmt.Sprintf("%s dport %d-%d", name, p.Port.IntVal, *p.EndPort))
		default:
			matches = append(matches, fmt.Sprintf("%s dport %d", name, p.Port.IntVal))
		}
	}
	return matches
}

func namedMatches(name string, protocol corev1.Protocol, servers []Pod) []string {
	byNumber := map[int32][]Pod{}
	for _, pod := range servers {
		for _, port := range pod.Ports {
			if port.Name == name && port.Protocol == protocol {
				byNumber[port.ContainerPort] = append(byNumber[port.ContainerPort], pod)
			}
		}
	}
	var matches []string
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		matches = append(matches, fmt.Sprintf("ip daddr %s %s dport %d", addresses(byNumber[number]), strings.ToLower(string(protocol)), number))
	}
	return matches
}
