package cluster

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
)

// A plain cluster has the same parts but the router.
func TestPlain(t *testing.T) {
	c := testConfig(t)
	if err := c.ensureRegistries(); err != nil {
		t.Fatal(err)
	}
	full := len(c.Parts())
	c.Plain = true
	if plain := len(c.Parts()); plain != full-1 {
		t.Errorf("%d parts instead of one less than %d", plain, full)
	}
	for _, part := range c.Parts() {
		if part.Name == Router {
			t.Error("it has a router")
		}
	}
}

// The first issuer signs; tokens of the other are only accepted.
func TestIssuerIsWhatTheAPIServerSigns(t *testing.T) {
	args := strings.Join(testConfig(t).apiServerArgs(), " ")
	first := strings.Index(args, "--service-account-issuer="+cloud.IssuerURL+" ")
	old := strings.Index(args, "--service-account-issuer="+oldIssuer+" ")
	if first < 0 || old < first {
		t.Errorf("the issuer of new tokens is not %s: %s", cloud.IssuerURL, args)
	}
}
