package azure_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// Which field Entra names: the one that no credential has, and none where issuer and subject belong to different credentials.
func TestFederationMismatches(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	iss := s.issuer("rg")
	mi := s.identity("rg", "wid")
	for name, f := range map[string][2]string{"one": {iss.url, "subject-a"}, "two": {"https://other.example.com", "subject-b"}} {
		_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "wid", "fic-"+name, federation(f[0], f[1]), nil)
		must(t, err)
	}
	stranger := iss
	stranger.url = iss.url + "/"
	soon := time.Now().Add(time.Hour)
	for number, token := range map[string]string{
		"700211": stranger.token(t, "subject-a", "openshift", soon),
		"700213": iss.token(t, "subject-c", "openshift", soon),
		"700212": iss.token(t, "subject-a", "api://AzureADTokenExchange", soon),
		"70021":  iss.token(t, "subject-b", "openshift", soon),
	} {
		_, err := s.workload(*mi.Properties.ClientID, token).GetToken(t.Context(), managementScope())
		wantAADSTS(t, err, number)
	}
}

// Entra reads an issuer's documents as anybody does: the log shows it, and faults of blob storage hit it.
func TestEntraReadsTheIssuerOverTheWire(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	iss := s.issuer("rg")
	mi := s.identity("rg", "wid")
	_, err := s.federations().CreateOrUpdate(t.Context(), "rg", "wid", "fic", federation(iss.url, "sub"), nil)
	must(t, err)
	exchange := func() error {
		_, err := s.workload(*mi.Properties.ClientID, iss.token(t, "sub", "openshift", time.Now().Add(time.Hour))).GetToken(t.Context(), managementScope())
		return err
	}
	must(t, exchange())
	read := s.logged(2, func(e access.Entry) bool {
		return e.Plane == fault.Blob && e.UserAgent == "entra-issuer-fetch" && strings.HasPrefix(e.URL, iss.url) && e.Status == 200
	})
	if len(read) != 2 {
		t.Errorf("the log shows %d reads of the issuer, want discovery document and keys", len(read))
	}
	for _, r := range []fault.Rule{
		{Plane: fault.Blob, Method: "GET", Path: "openid/v1/jwks", Status: 503, Code: "ServerBusy"},
		{Plane: fault.Blob, Method: "GET", Path: ".well-known/openid-configuration", Status: 404, Code: "ResourceNotFound"},
		{Plane: fault.Blob, Method: "GET", Reset: fault.Before},
	} {
		added := s.fault(t, r)
		wantAADSTS(t, exchange(), "50166")
		must(t, s.server.Faults().Clear(added.ID))
		must(t, exchange())
	}
}
