package azure

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
	Field    string // the exact field that does not match, with the value Azure was shown; "" where none does
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
	message := e.describe(err)
	found, ok := lookUp(e.Code)
	if !ok {
		return e
	}
	e.Kind, e.Remedy, e.Field = found.kind, found.remedy, found.field
	if found.cause != "" {
		e.Cause = found.cause
	}
	if shown := presented(message); shown != "" && e.Field != "" {
		e.Field += ", which is '" + shown + "'"
	}
	return e
}

// describe takes what the error itself says, and returns Azure's sentence.
func (e *Error) describe(err error) string {
	var response *azcore.ResponseError
	var signIn *azidentity.AuthenticationFailedError
	var network net.Error
	switch {
	case errors.As(err, &response):
		e.Code, e.Status = response.ErrorCode, response.StatusCode
		message := messageOf(response.RawResponse)
		e.Cause = cmp.Or(message, fmt.Sprintf("Azure answered %d", response.StatusCode))
		switch {
		case e.Status == http.StatusTooManyRequests:
			e.Kind = Waiting
		case e.Status >= 500 || e.Status == http.StatusConflict && e.Code == "Conflict":
			e.Kind = Transient
		}
		return message
	case errors.As(err, &signIn):
		message := cmp.Or(messageOf(signIn.RawResponse), signIn.Error())
		e.Code = aadstsPattern.FindString(message)
		e.Cause = "signing in to Azure failed"
		e.Remedy = "check the credentials file"
		return message
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = "interrupted: " + err.Error()
	case errors.As(err, &network):
		e.Cause, e.Kind = "the network failed: "+network.Error(), Transient
		e.Remedy = "check HTTPS_PROXY and that Azure is reachable"
	default:
		e.Cause = err.Error()
	}
	return ""
}

func messageOf(resp *http.Response) string {
	if resp == nil || resp.Body == nil {
		return ""
	}
	body, err := runtime.Payload(resp)
	if err != nil {
		return ""
	}
	return sentence(body)
}

// sentence takes the message out of the body of an error: the resource manager nests it in "error", the providers may leave
// that out, the token service has its own member, and blob storage speaks XML. It is one line, "" when there is none.
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
	var inner struct {
		Message string `json:"message"`
	}
	if len(doc.Error) > 0 && json.Unmarshal(doc.Error, &inner) != nil {
		inner.Message = "" // the token service has a word there
	}
	text := cmp.Or(inner.Message, doc.Message, doc.Description)
	if i := strings.Index(text, " Trace ID:"); i >= 0 {
		text = text[:i]
	}
	return strings.Join(strings.Fields(text), " ")
}

var presentedPattern = regexp.MustCompile(`(?i)presented assertion (?:issuer|subject|audience) '([^']+)'|identifier '([^']+)'`)

// presented is the value that Azure says it was shown and could not match.
func presented(message string) string {
	m := presentedPattern.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return cmp.Or(m[1], m[2])
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

// CodeOf returns Azure's code, or "".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
