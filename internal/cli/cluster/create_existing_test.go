package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/existing"
)

// A comparison that looks at a flag which is none finds nothing.
func TestComparedFlagsExist(t *testing.T) {
	flags := NewCreateAzureCommand(clitest.Infra, clitest.Releases{}, nil).Flags()
	for _, flag := range existing.FlagNames() {
		if flags.Lookup(flag) == nil {
			t.Errorf("there is no flag --%s", flag)
		}
	}
}

// Addresses of the management cluster are told by its own configuration, or by its nodes.
func TestManagementRanges(t *testing.T) {
	c := clitest.Client(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.200.0.0/24"}}})
	creator := &creation{say: func(string, ...any) {}}
	for cidr, refused := range map[string]bool{"10.200.0.0/16": true, "10.132.0.0/14": false} {
		v := validated{}
		v.cluster.Networking.ClusterCIDRs = []string{cidr}
		if err := v.loadRanges(); err != nil {
			t.Fatal(err)
		}
		if err := creator.checkManagementRanges(t.Context(), c, v.infra.Ranges); (err != nil) != refused {
			t.Errorf("%s: %v, refused should be %v", cidr, err, refused)
		}
	}
}
