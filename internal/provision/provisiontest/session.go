// Package provisiontest has what the tests of the stacks share.
package provisiontest

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// Ids that stand in tests for a subscription, and for any client or tenant.
const (
	Subscription = "11111111-1111-1111-1111-111111111111"
	Client       = "22222222-2222-2222-2222-222222222222"
)

// Session is one that makes no call.
func Session(t *testing.T) *azure.Session {
	t.Helper()
	s, err := azure.NewSession(azure.Credentials{SubscriptionID: Subscription, TenantID: Client, ClientID: Client, ClientSecret: "x"}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
