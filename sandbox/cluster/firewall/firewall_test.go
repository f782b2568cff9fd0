package firewall

import (
	"strings"
	"testing"
)

func TestCleanupScript(t *testing.T) {
	saved := `*nat
:PREROUTING ACCEPT [0:0]
:CNI-abc - [0:0]
:DOCKER - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -m comment --comment "kubernetes" -j KUBE-SERVICES
-A PREROUTING -j DOCKER
-A KUBE-SERVICES -j CNI-abc
-A CNI-abc -d 10.200.0.0/16 -j ACCEPT
COMMIT
*filter
:INPUT ACCEPT [0:0]
-A INPUT -j ACCEPT
COMMIT
`
	want := `*nat
-D PREROUTING -m comment --comment "kubernetes" -j KUBE-SERVICES
-F CNI-abc
-F KUBE-SERVICES
-X CNI-abc
-X KUBE-SERVICES
COMMIT
`
	if got := cleanupScript(saved); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := cleanupScript("*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n"); got != "" {
		t.Errorf("nothing of ours, and yet %q", got)
	}
}

func TestHasRules(t *testing.T) {
	empty := "table ip nat {\n\tchain PREROUTING {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t}\n}\n"
	if hasRules(empty) {
		t.Error("empty chains are no rules")
	}
	if !hasRules(strings.Replace(empty, "accept;\n", "accept;\n\t\tip daddr 1.2.3.4 drop\n", 1)) {
		t.Error("a rule is overlooked")
	}
}
