package provider

import (
	"fmt"
	"net/http"
	"strings"
)

// Error is an error as ARM answers it.
type Error struct {
	Status        int
	Code, Message string
	Extra         Doc // more members of the error: details, additionalInfo, target
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Failf makes an error with a formatted message.
func Failf(status int, code, format string, args ...any) *Error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// BadRequest is an error with status 400.
func BadRequest(code, format string, args ...any) *Error {
	return Failf(http.StatusBadRequest, code, format, args...)
}

// Conflict is an error with status 409.
func Conflict(code, format string, args ...any) *Error {
	return Failf(http.StatusConflict, code, format, args...)
}

// NotFound is the refusal of what is not there. It differs by who answers in Azure: the gateway for groups and top-level resources, the
// provider for children.
func (c *Call) NotFound(p Path) *Error {
	k := c.Kinds.Of(p.Type)
	switch {
	case strings.EqualFold(p.Type, TypeResourceGroup):
		return GroupNotFound(p.Name())
	case k.Missing != "":
		return Failf(http.StatusNotFound, k.Missing, "The specified resource '%s' does not exist.", p.Name())
	case p.Depth() > 1:
		return Failf(http.StatusNotFound, "NotFound", "The resource '%s' was not found.", p.Raw)
	}
	group := LastSegment(p.ResourceGroup())
	return Failf(http.StatusNotFound, "ResourceNotFound", "The Resource '%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", k.TypeName(p.Type), strings.Join(p.Names, "/"), group)
}

// GroupNotFound is the refusal of what is in a missing resource group.
func GroupNotFound(name string) *Error {
	return Failf(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", name)
}

// Document is the error as it is answered.
func (e *Error) Document() Doc {
	d := Doc{"code": e.Code, "message": e.Message}
	for k, v := range e.Extra {
		d[k] = v
	}
	return d
}

// MissingReference is the refusal of a document that names a resource which is not there.
func MissingReference(id string, by *Resource) error {
	return BadRequest("InvalidResourceReference", "Resource %s referenced by resource %s was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", id, by.ID)
}
