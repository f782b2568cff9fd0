package iam

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/provisiontest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

func TestIAMMakesEveryIdentityAndCredential(t *testing.T) {
	o := Options{Name: "demo", InfraID: "demo-x", ResourceGroup: "g", IssuerURL: "https://i"}
	for _, tc := range []struct {
		kms, every              bool
		identities, credentials int
	}{{false, false, 7, 12}, {true, false, 8, 13}, {false, true, 9, 14}} {
		o.EnableKMS, o.every = tc.kms, tc.every
		nodes := nodesOf(provisiontest.Session(t), o, &identity.WorkloadIdentities{})
		count := map[string]int{}
		for _, n := range nodes {
			count[n.Kind]++
		}
		if count["managed identity"] != tc.identities || count["federated credential"] != tc.credentials {
			t.Errorf("kms %v: %v", tc.kms, count)
		}
		if err := stack.Validate(nodes); err != nil {
			t.Error(err)
		}
	}
}
