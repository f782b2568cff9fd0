package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

func TestForbiddenPublicBlobsNameTheOtherWays(t *testing.T) {
	issuer := Issuer{StorageAccount: "acc"}
	for code, explained := range map[string]bool{"PublicAccessNotPermitted": true, "RequestDisallowedByPolicy": true, "AuthorizationFailed": false} {
		err := ExplainPublicAccess(issuer, &failure.Error{Code: code, Cause: "no", Kind: failure.Terminal})
		if got := strings.Contains(err.Error(), "--static-website") && strings.Contains(err.Error(), "custom domain"); got != explained {
			t.Errorf("%s: %v", code, err)
		}
		if failure.CodeOf(err) != code {
			t.Errorf("%s is lost", code)
		}
	}
	if ExplainPublicAccess(issuer, nil) != nil {
		t.Error("success became an error")
	}
}

func TestDiscoveryNamesTheKeys(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := documents("https://a.blob.core.windows.net/c", &key.PublicKey)
	if err != nil || !strings.Contains(string(documents[DiscoveryPath]), `"jwks_uri": "https://a.blob.core.windows.net/c/openid/v1/jwks"`) {
		t.Errorf("%s, %v", documents[DiscoveryPath], err)
	}
}
