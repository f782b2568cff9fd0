package firewall

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/knftables"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// The nftables table that keeps out who is not of this sandbox.
const (
	strangersFamily = knftables.IPv4Family
	strangersName   = "hypershift-strangers"
	strangersTable  = string(strangersFamily) + " " + strangersName
)

// strangersRules keep other hosts and other users from the sandbox. Packets for its addresses that arrive on a link of others are dropped
// before connection tracking knows them: what comes back to a pod that asked outside has the machine's own address there. Processes of
// the machine reach it as root, or from a network of their own, as pods do. forwards: the machine routed before, for whom it still may.
func strangersRules(forwards bool) *nftable.Table {
	t := nftable.New(strangersFamily, strangersName)
	t.Add(&knftables.Set{Name: "addresses", Type: "ipv4_addr", Flags: []knftables.SetFlag{knftables.IntervalFlag}})
	for _, prefix := range []string{names.AllPrefix, names.PodCIDR, names.ServiceCIDR} {
		t.Add(&knftables.Element{Set: "addresses", Key: []string{prefix}})
	}
	t.Base("prerouting", nftable.Hook{Type: knftables.FilterType, At: knftables.PreroutingHook, Priority: knftables.RawPriority},
		`iifname "lo" accept`, `iifname "hs*" accept`, "ip daddr @addresses drop")
	t.Base("output", nftable.Hook{Type: knftables.FilterType, At: knftables.OutputHook, Priority: knftables.FilterPriority + "-10"},
		"ip daddr @addresses meta skuid != 0 reject with icmp type admin-prohibited",
		"ip daddr 127.0.0.0/8 tcp dport "+names.ProxyPort+" meta skuid != 0 reject with tcp reset")
	if !forwards {
		t.Base("forward", nftable.Hook{Type: knftables.FilterType, At: knftables.ForwardHook, Priority: knftables.FilterPriority + "-10"},
			`iifname != "hs*" oifname != "hs*" drop`)
	}
	return t
}

// KeepStrangersOut is done before anything listens at the sandbox's addresses.
func KeepStrangersOut(ctx context.Context, forwards bool) error {
	if err := new(nftable.Loader).Replace(ctx, strangersRules(forwards)); err != nil {
		return fmt.Errorf("keep other hosts from the sandbox's addresses: %w", err)
	}
	return nil
}

// LetStrangersIn undoes KeepStrangersOut.
func LetStrangersIn(ctx context.Context) error {
	if !slices.Contains(Tables(ctx), strangersTable) {
		return nil
	}
	return nftable.Remove(ctx, strangersTable)
}
