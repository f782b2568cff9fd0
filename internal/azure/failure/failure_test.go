package failure

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

func TestWrapSaysWhatHappenedWhyAndWhatToDo(t *testing.T) {
	for code, want := range map[string]Kind{
		"AuthorizationFailed": Terminal, "PrincipalNotFound": Waiting,
		"ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity": Waiting,
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

// answered is the error that the SDK makes of an answer of Azure.
func answered(status int, header, body string) error {
	request, _ := http.NewRequest(http.MethodPut, "https://management.azure.com/x", nil)
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Request: request, Body: io.NopCloser(strings.NewReader(body))}
	if header != "" {
		resp.Header.Set("x-ms-error-code", header)
	}
	return runtime.NewResponseError(resp)
}

func TestDictionarySaysCauseFieldAndRemedy(t *testing.T) {
	for _, tc := range []struct {
		code, field, remedy string
		kind                Kind
	}{
		{"AADSTS700016", "clientId", "az ad sp show", Terminal},
		{"AADSTS70021", "issuer, subject or audience", "create iam azure", Waiting},
		{"AADSTS700211", "issuer", "--oidc-issuer-url", Waiting},
		{"AADSTS700212", "audience", "openshift", Terminal},
		{"AADSTS700213", "subject", "system:serviceaccount", Waiting},
		{"AADSTS700024", "nbf and exp", "clock", Terminal},
		{"AADSTS7000215", "clientSecret", "credential reset", Terminal},
		{"PublicAccessNotPermitted", "allowBlobPublicAccess", "exemption", Terminal},
		{"PrincipalNotFound", "principal", "tried again", Waiting},
		{"RoleAssignmentExists", "name of the role assignment", "az role assignment delete", Waiting},
		{"ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity", "", "tried again", Waiting},
		{"MissingSubscriptionRegistration", "resource providers", "az provider register", Terminal},
		{"ScopeLocked", "lock", "az lock delete", Terminal},
		{"SubscriptionNotRegistered", "resource providers", "az provider register", Terminal},
		{"LinkedAuthorizationFailed", "linked scope", "missing role", Terminal},
		{"DenyAssignmentAuthorizationFailed", "deny assignment", "outweighs", Terminal},
		{"Authorization_RequestDenied", "Microsoft Graph", "Application.ReadWrite.OwnedBy", Terminal},
		{"OperationNotAllowed", "quota", "az quota", Terminal},
		{"AllocationFailed", "size or location", "no room", Terminal},
		{"ZonalAllocationFailed", "zone", "no room", Terminal},
		{"SubnetIsFull", "subnet", "larger", Terminal},
		{"ResourcePurchaseValidationFailed", "purchase plan", "accept", Terminal},
		{"VMMarketplaceInvalidInput", "purchase plan", "plan must be that of the image", Terminal},
		{"KeyBasedAuthenticationNotPermitted", "allowSharedKeyAccess", "login", Terminal},
		{"ContainerBeingDeleted", "", "half a minute", Waiting},
		{"ReadOnlyDisabledSubscription", "subscription", "enable", Terminal},
		{"UnmatchedPrincipalType", "principalType", "object id", Terminal},
		{"QuotaExceeded", "quota", "az quota", Terminal},
		{"AuthorizationFailed", "role of the signed-in identity", "Contributor", Terminal},
		{"RequestDisallowedByPolicy", "the policy names", "exemption", Terminal},
		{"ResourceGroupNotFound", "resource group", "az group show", Terminal},
		{"InvalidTemplate", "parameter", "correct", Terminal},
		{"InvalidTemplateDeployment", "parameter", "correct", Terminal},
		{"SkuNotAvailable", "size or location", "list-skus", Terminal},
		{"MarketplacePurchaseEligibilityFailed", "purchase plan", "accept", Terminal},
	} {
		err := Wrap("create", "/x", answered(http.StatusBadRequest, tc.code, `{"error":{"code":"`+tc.code+`","message":"as Azure says"}}`))
		var e *Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		if e.Cause == "" || !strings.Contains(e.Field, tc.field) || !strings.Contains(e.Remedy, tc.remedy) || e.Kind != tc.kind {
			t.Errorf("%s: cause %q, field %q, remedy %q, kind %s", tc.code, e.Cause, e.Field, e.Remedy, e.Kind)
		}
		for _, part := range []string{tc.code, e.Cause, e.Field, e.Remedy} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the text lacks %q: %v", tc.code, part, err)
			}
		}
	}
}

func TestFieldShowsWhatAzureFound(t *testing.T) {
	request, _ := http.NewRequest(http.MethodPost, "https://login.microsoftonline.com/t/oauth2/v2.0/token", nil)
	for text, want := range map[string]string{
		"AADSTS700213: No matching federated identity record found for presented assertion subject 'system:serviceaccount:a:b'. Trace ID: 1":         "sub: found 'system:serviceaccount:a:b' in the token",
		"AADSTS70021: No matching federated identity record found for presented assertion. Assertion Issuer: 'https://i'. Assertion Subject: 's'.":   "found issuer 'https://i' with subject 's' in the token",
		"AADSTS700016: Application with identifier 'x' was not found in the directory 'Contoso'.":                                                    "found client id 'x', expected one of the directory 'Contoso'",
		"AADSTS700024: Client assertion is not within its valid time range. Current time: 3Z, assertion valid from 1Z, expiry time of assertion 2Z.": "found a token for 1Z to 2Z, expected one that covers Entra's time 3Z",
		"AADSTS700024: Client assertion is not within its valid time range.":                                                                         "Entra's clock; set",
	} {
		err := Wrap("sign in", "x", &azidentity.AuthenticationFailedError{RawResponse: &http.Response{StatusCode: http.StatusBadRequest, Request: request,
			Body: io.NopCloser(strings.NewReader(`{"error":"invalid_client","error_description":"` + text + `"}`))}})
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngave %v", text, err)
		}
	}
	for body, want := range map[string]string{
		`{"error":{"code":"QuotaExceeded","message":"Location: eastus, Current Limit: 10, Current Usage: 8, Additional Required: 4."}}`: "found 8 of 10 in use, expected 4 to be free",
		`{"error":{"code":"RequestDisallowedByPolicy","message":"m","additionalInfo":[{"type":"PolicyViolation","info":{"evaluationDetails":{"evaluatedExpressions":[
			{"expression":"location","operator":"NotIn","expressionValue":"eastus","targetValue":["westeurope"]}]}}}]}}`: "found location 'eastus', which the policy denies with NotIn '[westeurope]'",
		`{"error":{"code":"InvalidTemplateDeployment","message":"The template failed.","details":[{"code":"QuotaExceeded","message":"Too many."}]}}`: "The template failed. QuotaExceeded: Too many.",
	} {
		if err := Wrap("create", "/x", answered(http.StatusConflict, "", body)); !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngave %v", body, err)
		}
	}
}

// TestSignInWithoutAnAnswer: nobody has refused the credentials.
func TestSignInWithoutAnAnswer(t *testing.T) {
	err := Wrap("sign in", "x", &azidentity.AuthenticationFailedError{})
	if KindOf(err) != Transient || strings.Contains(err.Error(), "credentials file") || !strings.Contains(err.Error(), "HTTPS_PROXY") {
		t.Errorf("%s: %v", KindOf(err), err)
	}
}

// A sign-in service that cannot answer now says nothing of the credentials.
func TestSignInThatIsBusy(t *testing.T) {
	for status, kind := range map[int]Kind{http.StatusTooManyRequests: Waiting, http.StatusServiceUnavailable: Transient, http.StatusUnauthorized: Terminal} {
		request, _ := http.NewRequest(http.MethodPost, "https://login.microsoftonline.com/x", nil)
		err := Wrap("sign in", "x", &azidentity.AuthenticationFailedError{RawResponse: &http.Response{StatusCode: status, Request: request, Body: io.NopCloser(strings.NewReader("{}"))}})
		if KindOf(err) != kind || strings.Contains(err.Error(), "credentials file") != (kind == Terminal) {
			t.Errorf("%d: %s: %v", status, KindOf(err), err)
		}
	}
}

func TestSentence(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"X","message":"a \"quoted\"\nword"}}`:                  `a "quoted" word`,
		`{"code":"X","message":"plain"}`:                                         "plain",
		`{"error":"invalid_client","error_description":"A: b. Trace ID: 1"}`:     "A: b.",
		`<?xml version="1.0"?><Error><Code>C</Code><Message>m</Message></Error>`: "m",
		"<html>":                  "",
		"":                        "",
		`{"error":{"message":1}}`: "",
	} {
		if got := sentence([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func FuzzErrorBody(f *testing.F) {
	f.Add("X", []byte(`{"error":{"code":"X","message":"m"}}`))
	f.Add("", []byte(`{"error":"invalid_client","error_description":"AADSTS700213: presented assertion subject 'x'"}`))
	f.Add("", []byte(`<Error><Code>C</Code><Message>m</Message></Error>`))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		err := Wrap("create", "/x", answered(http.StatusBadRequest, header, string(body)))
		var e *Error
		if !errors.As(err, &e) || e.Cause == "" || e.Kind == "" {
			t.Fatalf("%q gave %#v", body, err)
		}
		if strings.Contains(sentence(body), "\n") {
			t.Fatalf("more than one line: %q", sentence(body))
		}
	})
}
