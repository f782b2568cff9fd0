package azure

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

const (
	uuidA = "11111111-1111-1111-1111-111111111111"
	uuidB = "22222222-2222-2222-2222-222222222222"
	uuidC = "33333333-3333-3333-3333-333333333333"
)

func TestParseCredentials(t *testing.T) {
	want := Credentials{SubscriptionID: uuidA, TenantID: uuidB, ClientID: uuidC, ClientSecret: "s"}
	for name, text := range map[string]string{
		"documented": `{"subscriptionId":"` + uuidA + `","tenantId":"` + uuidB + `","clientId":"` + uuidC + `","clientSecret":"s"}`,
		"other case": `{"subscriptionID":"` + uuidA + `","TenantId":"` + uuidB + `","clientID":"` + uuidC + `","ClientSecret":"s","extra":1}`,
		"yaml":       "subscription_id: " + uuidA + "\ntenant: " + uuidB + "\nappId: " + uuidC + "\npassword: s\n",
	} {
		if got, err := ParseCredentials([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for field, text := range map[string]string{
		"tenantId": `{"subscriptionId":"` + uuidA + `","clientId":"` + uuidC + `"}`,
		"clientId": `{"subscriptionId":"` + uuidA + `","tenantId":"` + uuidB + `","clientId":"me"}`,
	} {
		if _, err := ParseCredentials([]byte(text)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func FuzzParseCredentials(f *testing.F) {
	f.Add([]byte(`{"subscriptionId":"` + uuidA + `"}`))
	f.Add([]byte("a: [b"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := ParseCredentials(raw); err == nil && !(IsUUID(c.SubscriptionID) && IsUUID(c.TenantID) && IsUUID(c.ClientID)) {
			t.Fatalf("accepted %+v", c)
		}
	})
}

func TestAssignmentNameVector(t *testing.T) {
	got := AssignmentName("test-infra", "ingress", "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/rg1")
	if got != "f873c03b-79f0-525d-b554-a64025288cc8" {
		t.Fatal(got)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("/subscriptions/" + uuidA + "/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s")
	f.Add("//subscriptions")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseID(text); err == nil && (id.SubscriptionID == "" || id.ResourceGroup == "") {
			t.Fatalf("%q gave %+v", text, id)
		}
	})
}

func TestWrapSaysWhatHappenedWhyAndWhatToDo(t *testing.T) {
	for code, want := range map[string]Kind{
		"AuthorizationFailed": Terminal, "PrincipalNotFound": Waiting,
		"ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity": Transient,
	} {
		err := Wrap("create", "/x", &azcore.ResponseError{ErrorCode: code, StatusCode: http.StatusForbidden})
		if KindOf(err) != want || CodeOf(err) != code || !strings.Contains(err.Error(), "/x") {
			t.Errorf("%s: %v is %s", code, err, KindOf(err))
		}
	}
	busy := Wrap("create", "/x", &azcore.ResponseError{StatusCode: http.StatusServiceUnavailable})
	if KindOf(busy) != Transient {
		t.Errorf("503 is %s", KindOf(busy))
	}
	if gone := Wrap("read", "/x", &azcore.ResponseError{StatusCode: http.StatusNotFound}); !IsNotFound(gone) {
		t.Error("404 is not recognised")
	}
	if inner := errors.New("inner"); !errors.Is(Wrap("read", "/x", inner), inner) {
		t.Error("the cause is lost")
	}
}
