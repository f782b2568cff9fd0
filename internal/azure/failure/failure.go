// Package failure says of what Azure refuses what happened, why, and what to do: a dictionary of its codes.
package failure

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
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
	Field    string // the exact field that does not match, with what was expected and found as far as Azure says; "" where none does
	Remedy   string
	Kind     Kind
	err      error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Op, e.Resource, e.Cause)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Field != "" {
		text += "; check " + e.Field
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

func (e *Error) Unwrap() error { return e.err }

var aadstsPattern = regexp.MustCompile(`AADSTS\d+`)

// Wrap gives an error of the SDK its place in the dictionary. A nil error stays nil and an *Error is returned as it is.
func Wrap(op, resource string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, Resource: resource, Cause: "the call failed", Kind: Terminal, err: err}
	body := e.describe(err)
	found, ok := lookUp(e.Code)
	if !ok {
		return e
	}
	e.Kind, e.Remedy, e.Field = found.kind, found.remedy, fieldOf(e.Code, found.field, body)
	if found.cause != "" {
		e.Cause = found.cause
	}
	return e
}

// describe takes what the error itself says, and returns the body of Azure's answer.
func (e *Error) describe(err error) []byte {
	var response *azcore.ResponseError
	var signIn *azidentity.AuthenticationFailedError
	var network net.Error
	switch {
	case errors.As(err, &response):
		e.Code, e.Status = response.ErrorCode, response.StatusCode
		body := bodyOf(response.RawResponse)
		e.Cause = cmp.Or(sentence(body), wordless(e.Status))
		switch {
		case e.Status == http.StatusTooManyRequests:
			e.Kind = Waiting
		case e.Status >= 500 || e.Status == http.StatusConflict && e.Code == "Conflict":
			e.Kind = Transient
		}
		return body
	case errors.As(err, &signIn):
		body := bodyOf(signIn.RawResponse)
		e.Code = aadstsPattern.FindString(cmp.Or(sentence(body), signIn.Error()))
		e.Cause = "signing in to Azure failed"
		e.Remedy = "check the credentials file"
		if resp := signIn.RawResponse; resp != nil {
			e.Status = resp.StatusCode
			e.describeBusySignIn()
		}
		if signIn.RawResponse == nil && e.Code == "" {
			// Nobody answered: the library keeps nothing else of what happened.
			e.Cause, e.Kind = "signing in to Azure failed without an answer: "+signIn.Error(), Transient
			e.Remedy = "check HTTPS_PROXY and that Azure's sign-in service is reachable"
		}
		return body
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = "interrupted: " + err.Error()
	case errors.As(err, &network):
		e.Cause, e.Kind = "the network failed: "+network.Error(), Transient
		e.Remedy = "check HTTPS_PROXY and that Azure is reachable"
	default:
		e.Cause = err.Error()
	}
	return nil
}

// wordless is the cause of an answer that has none. One that is no refusal tells of an operation that has failed since.
func wordless(status int) string {
	if status < http.StatusBadRequest {
		return "Azure took the call, and its operation has failed; Azure says no more"
	}
	return fmt.Sprintf("Azure answered %d", status)
}

// describeBusySignIn is for a sign-in service that cannot answer now: the credentials were not looked at.
func (e *Error) describeBusySignIn() {
	const again = "it is tried again by itself; if it lasts, look at https://azure.status.microsoft, for the credentials were not looked at"
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.Cause, e.Kind, e.Remedy = "Azure's sign-in service is throttling: it answered 429", Waiting, again
	case e.Status >= 500:
		e.Cause, e.Kind, e.Remedy = fmt.Sprintf("Azure's sign-in service is not available: it answered %d", e.Status), Transient, again
	}
}

func bodyOf(resp *http.Response) []byte {
	if resp == nil || resp.Body == nil {
		return nil
	}
	body, err := runtime.Payload(resp)
	if err != nil {
		return nil
	}
	return body
}

// sentence takes the message out of the body of an error: the resource manager nests it in "error", the providers may leave
// that out, the token service has its own member, and blob storage speaks XML. Details say what a deployment only sums up. It is one line,
// "" when there is none.
func sentence(body []byte) string {
	var doc struct {
		XMLName     xml.Name        `json:"-"`
		Message     string          `json:"message" xml:"Message"`
		Description string          `json:"error_description" xml:"-"`
		Error       json.RawMessage `json:"error" xml:"-"`
	}
	if json.Unmarshal(body, &doc) != nil {
		_ = xml.Unmarshal(body, &doc) // neither: there is no sentence
	}
	var inner inner
	if len(doc.Error) > 0 && json.Unmarshal(doc.Error, &inner) != nil {
		inner.Message, inner.Details = "", nil // the token service has a word there
	}
	text := cmp.Or(inner.Message, doc.Message, doc.Description)
	for _, d := range inner.Details {
		if d.Message != "" {
			text += " " + d.Code + ": " + d.Message
		}
	}
	if i := strings.Index(text, " Trace ID:"); i >= 0 {
		text = text[:i]
	}
	return strings.Join(strings.Fields(text), " ")
}

// inner is the resource manager's error.
type inner struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Details []inner `json:"details"`
}

// KindOf classifies any error; one that is not of this package is Terminal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Terminal
}

// IsUnanswered tells whether nobody has answered. The library that signs in keeps no cause, so an interrupted sign-in is one of these.
func IsUnanswered(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == 0 && e.Code == "" && e.Kind == Transient
}

// IsNotFound tells whether Azure said that the thing, or the group it is in, does not exist. Of a subscription that is not seen nobody knows what
// is in it.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && e.Code != "SubscriptionNotFound"
}

// IsParentMissing tells whether Azure said that what the thing is to be made in does not exist.
func IsParentMissing(err error) bool {
	code := CodeOf(err)
	return IsNotFound(err) && (code == "ResourceGroupNotFound" || code == "ParentResourceNotFound" || code == "ResourceNotFound")
}

// IsRefused tells whether Azure's answer to the very PUT of this resource was that it will not be, so that nothing was made. A lost answer,
// a throttled, slow or conflicting call, and whatever went wrong after the PUT leave that open.
func IsRefused(err error, id string) bool {
	var e *Error
	var answer *azcore.ResponseError
	if !errors.As(err, &e) || !strings.EqualFold(e.Resource, id) || !errors.As(err, &answer) {
		return false
	}
	if raw := answer.RawResponse; raw == nil || raw.Request == nil || raw.Request.Method != http.MethodPut {
		return false
	}
	switch answer.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	return answer.StatusCode >= 400 && answer.StatusCode < 500
}

// CodeOf returns Azure's code, or "".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// IsUnresolved tells whether DNS does not know the host. The name of a storage account is there some time after the account.
func IsUnresolved(err error) bool {
	var unknown *net.DNSError
	return errors.As(err, &unknown) && unknown.IsNotFound
}

// Spreading is the refusal as one that passes, with its reason.
func Spreading(err error, cause string) error {
	var refused *Error
	if !errors.As(err, &refused) {
		return err
	}
	passing := *refused
	passing.Cause, passing.Field, passing.Kind = cause, "", Waiting
	passing.Remedy = "it is tried again by itself; a role is known everywhere within ten minutes"
	passing.err = err
	return &passing
}

// IsSignIn tells whether the identity got no token, so that the service itself was not even asked.
func IsSignIn(err error) bool {
	var failed *azidentity.AuthenticationFailedError
	return errors.As(err, &failed)
}
