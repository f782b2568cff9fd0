package isolation

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

const (
	managementServer = "10.0.0.4"
	otherPod         = "10.128.3.7"
	managementNode   = "10.0.0.5"
	theOutside       = "203.0.113.9"
	proxyHost        = "10.0.0.6"
)

// waysOut are those of a management cluster of two nodes, of which one is an API server too and the other has the proxy.
func waysOut() out {
	found := management{servers: hosts(managementServer), ports: []int32{6443}, pods: networksOf("10.128.0.0/14"), nodes: hosts(managementServer, managementNode, proxyHost)}
	return out{closed: found.closed(hosts(metadataService, wireServer)...), dns: dnsRule(false), management: found,
		proxy: proxyenv.Proxy{HTTPSProxy: "http://" + proxyHost + ":3128", HTTPProxy: "http://" + proxyHost + ":3128"}}
}

// reaches tells whether one of the policies that select the pod lets it reach the address; a pod that none selects reaches all.
func reaches(t *testing.T, policies []*networkingv1.NetworkPolicy, pod labels.Set, address string, port int) bool {
	t.Helper()
	isolated := false
	for _, policy := range policies {
		selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil {
			t.Fatal(err)
		}
		if !selector.Matches(pod) || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			continue
		}
		isolated = true
		if slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool { return ruleAdmits(rule, address, port) }) {
			return true
		}
	}
	return !isolated
}

func ruleAdmits(rule networkingv1.NetworkPolicyEgressRule, address string, port int) bool {
	within := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(address)) }
	peer := len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil && within(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, within)
	})
	return peer && (len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntValue() == port }))
}

// TestWaysOut: every pod of a control plane reaches the outside, and of the management cluster what it needs: name servers, its proxy,
// and its API where the pod has an account there.
func TestWaysOut(t *testing.T) {
	hc := hostedclustertest.Cluster("demo", "image")
	hc.Spec.Platform.Type = hyperv1.AzurePlatform
	wanted := policies{hc: hc}.egress(waysOut())
	pods := map[string]labels.Set{
		"an API server":                         {component.LabelApp: contract.APIServer},
		"an API server with the user's label":   {component.LabelApp: contract.APIServer, component.LabelManagementAccess: "true"},
		"a router with the user's label":        {component.LabelApp: "private-router", component.LabelManagementAccess: "true"},
		"etcd":                                  {component.LabelApp: "etcd"},
		"a pod without labels":                  {},
		"the control-plane-operator, of access": {component.LabelApp: contract.ControlPlaneOperator, component.LabelManagementAccess: "true"},
	}
	for title, pod := range pods {
		access, proxied := strings.Contains(title, "of access"), !strings.Contains(title, "router")
		for target, c := range map[string]struct {
			address string
			port    int
			want    bool
		}{
			"the outside":            {theOutside, 443, true},
			"a name server":          {wireServer, 53, true},
			"the proxy":              {proxyHost, 3128, proxied},
			"the management API":     {managementServer, 6443, access},
			"its kubelet":            {managementServer, 10250, false},
			"another node's kubelet": {managementNode, 10250, false},
			"a pod of others":        {otherPod, 2379, false},
			"the metadata service":   {metadataService, 80, false},
			"the WireServer":         {wireServer, 80, false},
			"its other port":         {wireServer, 32526, false},
		} {
			if got := reaches(t, wanted, pod, c.address, c.port); got != c.want {
				t.Errorf("%s reaches %s: %t", title, target, got)
			}
		}
	}
}

// TestNoServersNoWay: without an address of an API server the rule would be one for everybody.
func TestNoServersNoWay(t *testing.T) {
	o := waysOut()
	o.management.servers = nil
	if policy := (policies{}).managementAPI(o); len(policy.Spec.Egress) != 0 {
		t.Errorf("%+v", policy.Spec.Egress)
	}
}

// TestClosed: what lies inside of a wider network is not named, and the order is one: with a name for the nodes' network policies stay
// as they are when nodes come and go.
func TestClosed(t *testing.T) {
	m := management{servers: hosts("10.0.0.4"), pods: networksOf("10.128.0.0/14", "10.128.0.0/14"), nodes: hosts("10.0.0.5", "192.0.2.1")}
	got := strings.Join(m.closed(append(networksOf("10.0.0.9/24"), hosts("169.254.169.254", "fd00::1")...)...), " ")
	if want := "10.128.0.0/14 10.0.0.0/24 169.254.169.254/32 192.0.2.1/32"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestUnknownPodNetworks: a condition says that pods of others stay open, until somebody tells their networks.
func TestUnknownPodNetworks(t *testing.T) {
	c := cluster.New(hostedclustertest.Cluster("demo", "image"), cluster.Environment{})
	told := func() *metav1.Condition { return kube.Find(c.Hosted.Status.Conditions, hyperv1.ControlPlaneIsolated) }
	tellUnknownPods(c, management{nodes: hosts("10.0.0.5")}, nil)
	if told() == nil || told().Status != metav1.ConditionFalse || told().Reason != hyperv1.PodNetworksUnknownReason || !strings.Contains(told().Message, "--hcp-egress-block-cidrs") {
		t.Errorf("unknown: %+v", told())
	}
	tellUnknownPods(c, management{}, []string{"10.128.0.0/14"})
	if told() != nil {
		t.Errorf("named by the administrator: %+v", told())
	}
	tellUnknownPods(c, management{}, nil)
	tellUnknownPods(c, management{pods: networksOf("10.128.0.0/14")}, nil)
	if told() != nil {
		t.Errorf("told by the management cluster: %+v", told())
	}
}
