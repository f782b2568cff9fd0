package provision

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

func TestForbiddenPublicBlobsNameTheOtherWays(t *testing.T) {
	issuer := Issuer{StorageAccount: "acc"}
	for code, explained := range map[string]bool{"PublicAccessNotPermitted": true, "RequestDisallowedByPolicy": true, "AuthorizationFailed": false} {
		err := explainPublicAccess(issuer, &azure.Error{Code: code, Cause: "no", Kind: azure.Terminal})
		if got := strings.Contains(err.Error(), "--static-website") && strings.Contains(err.Error(), "custom domain"); got != explained {
			t.Errorf("%s: %v", code, err)
		}
		if azure.CodeOf(err) != code {
			t.Errorf("%s is lost", code)
		}
	}
	if explainPublicAccess(issuer, nil) != nil {
		t.Error("success became an error")
	}
}
