package netpol

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

func pod(namespace, ip, app string, ports ...corev1.ContainerPort) Pod {
	return Pod{Namespace: namespace, IP: ip, Labels: labels.Set{"app": app}, Ports: ports}
}

// cluster has a control plane, another one beside it, and the namespaces of ingress and monitoring.
func cluster(t *testing.T, policies ...string) State {
	t.Helper()
	named := func(number int32) corev1.ContainerPort {
		return corev1.ContainerPort{Name: "client", ContainerPort: number, Protocol: corev1.ProtocolTCP}
	}
	s := State{
		Namespaces: map[string]labels.Set{"demo": nil, "other": nil, "ingress": {"group": "ingress"}, "empty": {"group": "nobody"}},
		Pods: []Pod{
			pod("demo", "10.200.0.2", "kube-apiserver"), pod("demo", "10.200.0.3", "etcd", named(2379)),
			pod("other", "10.200.0.4", "kube-apiserver"), pod("ingress", "10.200.0.5", "router"), pod("demo", "10.200.0.6", "etcd", named(12379)),
		},
	}
	for i, spec := range policies {
		p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: string(rune('a' + i))}}
		if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
			t.Fatal(err)
		}
		s.Policies = append(s.Policies, p)
	}
	return s
}

// lines of a chain: its hook, if it has one, and its rules.
func lines(rules *nftable.Table, chain string) string {
	out, found := []string{}, false
	for line := range strings.Lines(rules.String()) {
		line = strings.TrimSuffix(line, "\n")
		if properties, ok := strings.CutPrefix(line+" ", "add chain "+Table+" "+chain+" "); ok {
			found = true
			if strings.Contains(properties, " type ") {
				out = append(out, strings.Trim(properties, "{} "))
			}
		}
		if rule, ok := strings.CutPrefix(line, "add rule "+Table+" "+chain+" "); ok {
			out = append(out, rule)
		}
	}
	if !found {
		return "no chain"
	}
	return strings.Join(out, "; ")
}

func TestPeersAndPorts(t *testing.T) {
	const own, etcds = "ip saddr { 10.200.0.2, 10.200.0.3, 10.200.0.6 }", "ip daddr { 10.200.0.3, 10.200.0.6 }"
	for name, c := range map[string]struct{ spec, chain, want string }{
		"nothing is allowed":     {`{podSelector: {}, policyTypes: [Ingress]}`, "ingress-policy-0", ""},
		"everything is allowed":  {`{podSelector: {}, policyTypes: [Ingress], ingress: [{}]}`, "ingress-policy-0", "accept"},
		"own namespace":          {`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}]}]}`, "ingress-policy-0", own + " accept"},
		"a port from anybody":    {`{podSelector: {matchLabels: {app: kube-apiserver}}, policyTypes: [Ingress], ingress: [{ports: [{port: 6443, protocol: TCP}]}]}`, "ingress-policy-0", "tcp dport 6443 accept"},
		"another namespace":      {`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {group: ingress}}}]}]}`, "ingress-policy-0", "ip saddr { 10.200.0.5 } accept"},
		"pods of any namespace":  {`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: kube-apiserver}}}]}]}`, "ingress-policy-0", "ip saddr { 10.200.0.2, 10.200.0.4 } accept"},
		"a namespace of no pods": {`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {group: nobody}}}]}]}`, "ingress-policy-0", ""},
		"a block with exceptions": {`{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 10.1.0.0/16]}}]}]}`,
			"egress-policy-0", "ip daddr 0.0.0.0/0 ip daddr != 10.0.0.0/8 ip daddr != 10.1.0.0/16 accept"},
		"a block of another family": {`{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: "fd00::/8"}}]}]}`, "egress-policy-0", ""},
		"names and ranges of ports": {`{podSelector: {matchLabels: {app: etcd}}, policyTypes: [Ingress], ingress: [{ports: [{port: client}, {port: 9000, endPort: 9009, protocol: UDP}, {protocol: SCTP}]}]}`,
			"ingress-policy-0", "ip daddr { 10.200.0.3 } tcp dport 2379 accept; ip daddr { 10.200.0.6 } tcp dport 12379 accept; udp dport 9000-9009 accept; meta l4proto sctp accept"},
		"names of the other side's ports": {`{podSelector: {matchLabels: {app: kube-apiserver}}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: etcd}}}], ports: [{port: client}]}]}`,
			"egress-policy-0", etcds + " ip daddr { 10.200.0.3 } tcp dport 2379 accept; " + etcds + " ip daddr { 10.200.0.6 } tcp dport 12379 accept"},
		"a direction that is not meant": {`{podSelector: {}, policyTypes: [Ingress]}`, "egress", "no chain"},
		"nobody is selected":            {`{podSelector: {matchLabels: {app: nobody}}, policyTypes: [Ingress]}`, "ingress", "no chain"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := cluster(t, c.spec).Rules()
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(rules, c.chain); got != c.want {
				t.Errorf("chain %s has\n%s\nwant\n%s", c.chain, got, c.want)
			}
			accepted(t, rules)
		})
	}
}

// accepted asks nft, where there is one, whether it would take the rules.
func accepted(t *testing.T, rules *nftable.Table) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		return // the text is compared everywhere
	}
	check := exec.Command("nft", "--check", "--file", "-")
	check.Stdin = strings.NewReader(rules.String())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("nft does not accept the rules: %s\n%s", out, rules)
	}
}

// A pod is isolated by all policies that select it, and only such a pod is.
func TestPoliciesAddUp(t *testing.T) {
	rules, err := cluster(t,
		`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}]}]}`,
		`{podSelector: {matchLabels: {app: kube-apiserver}}, policyTypes: [Ingress, Egress], ingress: [{ports: [{port: 6443}]}], egress: [{}]}`).Rules()
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, rules)
	for chain, want := range map[string]string{
		"ingress-pods-0": "jump ingress-policy-0; jump ingress-policy-1; reject",
		"ingress-pods-1": "jump ingress-policy-0; reject",
		"egress-pods-0":  "jump egress-policy-1; reject",
		"ingress": "type filter hook forward priority 11 ; policy accept ;; ct state established,related accept; " +
			"ip daddr vmap { 10.200.0.2 : goto ingress-pods-0, 10.200.0.3 : goto ingress-pods-1, 10.200.0.6 : goto ingress-pods-1 }",
		"egress": "type filter hook forward priority 10 ; policy accept ;; ct state established,related accept; ip saddr vmap { 10.200.0.2 : goto egress-pods-0 }",
		// To the node itself no less than through it; from the node nothing is looked at.
		"egress-to-node":  "type filter hook input priority 10 ; policy accept ;; ct state established,related accept; ip saddr vmap { 10.200.0.2 : goto egress-pods-0 }",
		"ingress-to-node": "no chain",
	} {
		if got := lines(rules, chain); got != want {
			t.Errorf("chain %s has\n%s\nwant\n%s", chain, got, want)
		}
	}
}

// Without policies the table is empty, which takes back what was there.
func TestNoPolicies(t *testing.T) {
	rules, err := cluster(t).Rules()
	if err != nil {
		t.Fatal(err)
	}
	if text := rules.String(); strings.Contains(text, "chain") || !strings.Contains(text, "delete table "+Table+"\nadd table "+Table+"\n") {
		t.Errorf("rules:\n%s", text)
	}
}

func TestBadSelector(t *testing.T) {
	s := cluster(t, `{podSelector: {matchExpressions: [{key: a, operator: Sometimes}]}, policyTypes: [Ingress]}`)
	if _, err := s.Rules(); err == nil || !strings.Contains(err.Error(), "demo/a") {
		t.Errorf("error %v does not name the policy", err)
	}
}
