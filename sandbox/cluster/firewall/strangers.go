package firewall

import (
	"context"
	"fmt"
	"slices"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
)

// strangersTable is the nftables table that keeps out who is not of this sandbox, as "family name".
const strangersTable = "ip hypershift-strangers"

// strangersRules keep other hosts and other users from the sandbox. Packets for its addresses that arrive on a link of others are dropped
// before connection tracking knows them: what comes back to a pod that asked outside has the machine's own address there. Processes of
// the machine reach it as root, or from a network of their own, as pods do. forwards: the machine routed before, for whom it still may.
func strangersRules(forwards bool) string {
	router := ""
	if !forwards {
		router = `
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname != "hs*" oifname != "hs*" drop
  }`
	}
	return fmt.Sprintf(`table %[1]s {}
delete table %[1]s
table %[1]s {
  set addresses {
    type ipv4_addr; flags interval
    elements = { %[2]s, %[3]s, %[4]s }
  }
  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    iifname "lo" accept
    iifname "hs*" accept
    ip daddr @addresses drop
  }
  chain output {
    type filter hook output priority filter - 10; policy accept;
    ip daddr @addresses meta skuid != 0 reject with icmp type admin-prohibited
    ip daddr 127.0.0.0/8 tcp dport %[5]s meta skuid != 0 reject with tcp reset
  }%[6]s
}
`, strangersTable, names.AllPrefix, names.PodCIDR, names.ServiceCIDR, names.ProxyPort, router)
}

// KeepStrangersOut is done before anything listens at the sandbox's addresses.
func KeepStrangersOut(ctx context.Context, forwards bool) error {
	if err := Load(ctx, strangersRules(forwards)); err != nil {
		return fmt.Errorf("keep other hosts from the sandbox's addresses: %w", err)
	}
	return nil
}

// LetStrangersIn undoes KeepStrangersOut.
func LetStrangersIn(ctx context.Context) error {
	if !slices.Contains(Tables(ctx), strangersTable) {
		return nil
	}
	return nft(ctx, "delete", strangersTable)
}
