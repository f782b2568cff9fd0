package entra

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// tokenError is an error of the token endpoint, AADSTS<number>.
type tokenError struct {
	status  int
	code    string // the OAuth code
	number  string
	message string
}

func (e *tokenError) Error() string { return "AADSTS" + e.number + ": " + e.message }

func badClient(number, format string, args ...any) *tokenError {
	return &tokenError{http.StatusBadRequest, "invalid_client", number, fmt.Sprintf(format, args...)}
}

func unauthorized(number, format string, args ...any) *tokenError {
	return &tokenError{http.StatusUnauthorized, "invalid_client", number, fmt.Sprintf(format, args...)}
}

func badRequest(code, number, format string, args ...any) *tokenError {
	return &tokenError{http.StatusBadRequest, code, number, fmt.Sprintf(format, args...)}
}

func serverError(err error) *tokenError {
	return &tokenError{http.StatusInternalServerError, "server_error", "90033", err.Error()}
}

func unknownClient(id string) *tokenError {
	return badRequest("unauthorized_client", "700016", "Application with identifier '%s' was not found in the directory 'Sandbox'. This can happen if the application has not been installed by the administrator of the tenant or consented to by any user in the tenant. You may have sent your authentication request to the wrong tenant.", id)
}

func (e *tokenError) write(w http.ResponseWriter) {
	trace, correlation := uuid.NewString(), uuid.NewString()
	now := time.Now().UTC().Format("2006-01-02 15:04:05Z")
	wire.JSON(w, e.status, wire.Doc{
		"error":             e.code,
		"error_description": fmt.Sprintf("%v Trace ID: %s Correlation ID: %s Timestamp: %s", e, trace, correlation, now),
		"error_codes":       []any{json.Number(e.number)},
		"timestamp":         now, "trace_id": trace, "correlation_id": correlation,
		"error_uri": "https://login.microsoftonline.com/error?code=" + e.number,
	})
}
