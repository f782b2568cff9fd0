package fault

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// refuse answers with the error of a rule in the form of the plane.
func refuse(plane string, w http.ResponseWriter, r *http.Request, f *Rule) {
	code := cmp.Or(f.Code, strings.ReplaceAll(http.StatusText(f.Status), " ", ""), "Error")
	message := cmp.Or(f.Message, fmt.Sprintf("This answer was injected by fault %s of the sandbox.", f.ID))
	if d := time.Duration(f.RetryAfter); d > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.Seconds()))))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	w.Header().Set("x-ms-request-id", uuid.NewString())
	switch plane {
	case Entra:
		refuseToken(w, f.Status, code, message)
	case Blob:
		w.Header().Set("x-ms-error-code", code)
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(f.Status)
		_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, escape(code), escape(message))
	case Graph:
		wire.JSON(w, f.Status, wire.Doc{"error": wire.Doc{"code": code, "message": message, "innerError": wire.Doc{"request-id": uuid.NewString()}}})
	default:
		w.Header().Set("x-ms-error-code", code)
		w.Header().Set("x-ms-failure-cause", "gateway")
		e := wire.Doc{"code": code, "message": message}
		if code == "RequestDisallowedByPolicy" {
			e["target"] = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
			e["additionalInfo"] = []any{wire.Doc{"type": "PolicyViolation", "info": wire.Doc{"policyAssignmentName": "sandbox", "policyDefinitionDisplayName": "Sandbox policy"}}}
		}
		wire.JSON(w, f.Status, wire.Doc{"error": e})
	}
}

// refuseToken takes a number, with AADSTS in front or not, or the code of OAuth.
func refuseToken(w http.ResponseWriter, status int, code, message string) {
	number := strings.TrimPrefix(strings.ToUpper(code), "AADSTS")
	if _, err := strconv.Atoi(number); err != nil {
		wire.JSON(w, status, wire.Doc{"error": code, "error_description": message})
		return
	}
	wire.JSON(w, status, wire.Doc{"error": "invalid_client", "error_codes": []any{json.Number(number)},
		"error_description": fmt.Sprintf("AADSTS%s: %s Trace ID: %s Correlation ID: %s", number, message, uuid.NewString(), uuid.NewString()),
		"error_uri":         "https://login.microsoftonline.com/error?code=" + number})
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
