package arm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Error is an error as ARM answers it.
type Error struct {
	Status        int
	Code, Message string
	Extra         Doc // more members of the error: details, additionalInfo, target
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func failf(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func badRequest(code, format string, args ...any) *Error {
	return failf(http.StatusBadRequest, code, format, args...)
}

func conflict(code, format string, args ...any) *Error {
	return failf(http.StatusConflict, code, format, args...)
}

// notFound differs by who answers in Azure: the gateway for groups and top-level resources, the provider for children.
func notFound(p Path) *Error {
	k := kindOf(p.Type)
	switch {
	case strings.EqualFold(p.Type, typeResourceGroup):
		return groupNotFound(p.Name())
	case k.missing != "":
		return failf(http.StatusNotFound, k.missing, "The specified resource '%s' does not exist.", p.Name())
	case p.Depth() > 1:
		return failf(http.StatusNotFound, "NotFound", "The resource '%s' was not found.", p.Raw)
	}
	group := lastSegment(p.ResourceGroup())
	return failf(http.StatusNotFound, "ResourceNotFound", "The Resource '%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", k.typeName(p.Type), strings.Join(p.Names, "/"), group)
}

func groupNotFound(name string) *Error {
	return failf(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", name)
}

func writeError(w http.ResponseWriter, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = failf(http.StatusInternalServerError, "InternalServerError", "%v", err)
	}
	w.Header().Set("x-ms-failure-cause", "gateway")
	w.Header().Set("x-ms-error-code", e.Code)
	wire.JSON(w, e.Status, wire.Doc{"error": e.document()})
}

func (e *Error) document() Doc {
	d := Doc{"code": e.Code, "message": e.Message}
	for k, v := range e.Extra {
		d[k] = v
	}
	return d
}
