package azure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Kind decides what happens after an error.
type Kind string

// Transient errors are retried; Waiting ones are retried after a pause because Azure has not caught up; Terminal ones need a person.
const (
	Transient Kind = "Transient"
	Waiting   Kind = "Waiting"
	Terminal  Kind = "Terminal"
)

// Error says what happened, why, and what to do.
type Error struct {
	Code     string // Azure's code, such as AuthorizationFailed or AADSTS700213
	Status   int    // HTTP status, 0 when there was no answer
	Op       string // what was being done
	Resource string // ARM id or name
	Cause    string
	Remedy   string
	Kind     Kind
	err      error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Op, e.Resource, e.Cause)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *Error) Unwrap() error { return e.err }

type entry struct {
	cause, remedy string
	kind          Kind
}

// dictionary holds the codes that users of this field meet. An empty cause keeps Azure's own sentence.
var dictionary = map[string]entry{
	"AADSTS700016":              {"Entra does not know this client id in this tenant", "check clientId and tenantId of the credentials file", Terminal},
	"AADSTS90002":               {"Entra does not know this tenant", "check tenantId of the credentials file", Terminal},
	"AADSTS7000215":             {"the client secret is wrong or expired", "put a valid clientSecret into the credentials file", Terminal},
	"AADSTS70021":               {"no federated credential matches the token", "create the federated credential with the token's issuer, subject and audience", Waiting},
	"AADSTS700211":              {"the token's issuer is not the one of the federated credential", "check --oidc-issuer-url against the HostedCluster's spec.issuerURL", Waiting},
	"AADSTS700212":              {"the token's audience is not the one of the federated credential", "the audience must be openshift", Terminal},
	"AADSTS700213":              {"the token's subject is not the one of the federated credential", "compare the credential's subject with the service account", Waiting},
	"AADSTS700024":              {"the token is not valid at this time", "check the clock of the machine that minted it", Terminal},
	"AuthorizationFailed":       {"", "grant the missing role on that scope (Contributor and User Access Administrator on the subscription for set-up)", Terminal},
	"LinkedAuthorizationFailed": {"", "grant the missing role on the linked scope", Terminal},
	"PrincipalNotFound":         {"the directory has not replicated the new identity yet", "", Waiting},
	"RoleAssignmentExists":      {"the role assignment exists already", "", Terminal},
	"ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity": {"another write on the same identity is under way", "", Transient},
	"ResourceGroupNotFound":                {"the resource group does not exist", "check its name and the subscription", Terminal},
	"PublicAccessNotPermitted":             {"the storage account does not allow public blobs", "allow blob public access on the account, or ask for a policy exemption: the issuer documents must be readable anonymously", Terminal},
	"StorageAccountAlreadyTaken":           {"the storage account name is taken", "choose another --storage-account-name", Terminal},
	"StorageAccountAlreadyExists":          {"the storage account name is taken", "choose another --storage-account-name", Terminal},
	"RequestDisallowedByPolicy":            {"", "ask the owner of the policy for an exemption or change the request as the policy says", Terminal},
	"QuotaExceeded":                        {"", "request more quota or free resources in that region", Terminal},
	"SkuNotAvailable":                      {"", "choose another size or location", Terminal},
	"MarketplacePurchaseEligibilityFailed": {"", "accept the image's terms or use an image without a purchase plan", Terminal},
	"AnotherOperationInProgress":           {"another operation on the resource is under way", "", Transient},
	"RetryableError":                       {"", "", Transient},
	"TooManyRequests":                      {"Azure is throttling", "", Transient},
	"AuthorizationPermissionMismatch":      {"the role assignment for blob data is missing or not active yet", "grant Storage Blob Data Contributor on the account", Waiting},
	"AuthenticationFailed":                 {"", "check the credentials file", Terminal},
}

var aadstsPattern = regexp.MustCompile(`AADSTS\d+`)

// Wrap gives an error of the SDK its place in the dictionary. A nil error stays nil and an *Error is returned as it is.
func Wrap(op, resource string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, Resource: resource, Cause: "the call failed", Kind: Terminal, err: err}
	e.describe(err)
	if found, ok := dictionary[e.Code]; ok {
		e.Kind, e.Remedy = found.kind, found.remedy
		if found.cause != "" {
			e.Cause = found.cause
		}
	}
	return e
}

func (e *Error) describe(err error) {
	var response *azcore.ResponseError
	var signIn *azidentity.AuthenticationFailedError
	var network net.Error
	switch {
	case errors.As(err, &response):
		e.Code, e.Status = response.ErrorCode, response.StatusCode
		e.Cause = sentence(response.Error(), fmt.Sprintf("Azure answered %d", response.StatusCode))
		if e.Status == http.StatusTooManyRequests || e.Status >= 500 || e.Status == http.StatusConflict && e.Code == "Conflict" {
			e.Kind = Transient
		}
	case errors.As(err, &signIn):
		e.Cause = "signing in to Azure failed"
		e.Remedy = "check the credentials file"
		e.Code = aadstsPattern.FindString(signIn.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = "interrupted: " + err.Error()
	case errors.As(err, &network):
		e.Cause, e.Kind = "the network failed: "+network.Error(), Transient
		e.Remedy = "check HTTPS_PROXY and that Azure is reachable"
	default:
		e.Cause = err.Error()
	}
}

// sentence takes the message out of the SDK's many-line text.
func sentence(text, otherwise string) string {
	const key = `"message":`
	i := strings.Index(text, key)
	if i < 0 {
		return otherwise
	}
	rest := strings.TrimSpace(text[i+len(key):])
	rest = strings.TrimPrefix(rest, `"`)
	if j := strings.Index(rest, "\"\n"); j >= 0 {
		rest = rest[:j]
	}
	if j := strings.Index(rest, `",`); j >= 0 {
		rest = rest[:j]
	}
	return strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), `"`)
}

// KindOf classifies any error; one that is not of this package is Terminal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Terminal
}

// IsNotFound tells whether Azure said that the thing, or the group it is in, does not exist.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// IsThrottled tells whether Azure refused the call only because there were too many.
func IsThrottled(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusTooManyRequests
}

// CodeOf returns Azure's code, or "".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
