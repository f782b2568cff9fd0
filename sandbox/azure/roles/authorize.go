package roles

import (
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// Plane of an action.
type Plane bool

// Management actions are ARM calls, data actions reach the content of a resource.
const (
	Management Plane = false
	Data       Plane = true
)

// AssignmentType is the resource type of a role assignment.
const AssignmentType = "Microsoft.Authorization/roleAssignments"

// Hidden tells whether a role assignment made at a time does not count yet.
type Hidden func(created time.Time) bool

// Allowed tells whether some role assignment of the principal at the scope, or above it, grants the action. Hidden ones do not.
func Allowed(tx *store.Tx, plane Plane, principalID, action, scope string, hidden ...Hidden) bool {
	scope = normal(scope)
	return anyAssignment(tx, principalID, func(at, roleID string, created time.Time) bool {
		return !anyHides(hidden, created) && within(scope, at) && grants(tx, roleID, plane, action)
	})
}

// AllowedBelow tells whether some role assignment beneath the scope grants the management action somewhere; an empty action asks for any
// assignment. Azure lets such a principal list the collection and shows it only what it may see.
func AllowedBelow(tx *store.Tx, principalID, action, scope string, hidden ...Hidden) bool {
	scope = normal(scope)
	return anyAssignment(tx, principalID, func(at, roleID string, created time.Time) bool {
		return !anyHides(hidden, created) && within(at, scope) && (action == "" || grants(tx, roleID, Management, action))
	})
}

// Of is what the role assignments of the principal at the scope, and above it, allow in the management plane.
func Of(tx *store.Tx, principalID, scope string, hidden ...Hidden) []Permission {
	scope = normal(scope)
	var out []Permission
	anyAssignment(tx, principalID, func(at, roleID string, created time.Time) bool {
		if !anyHides(hidden, created) && within(scope, at) {
			out = append(out, permissions(tx, roleID, Management)...)
		}
		return false
	})
	return out
}

func anyHides(hidden []Hidden, created time.Time) bool {
	return slices.ContainsFunc(hidden, func(h Hidden) bool { return h(created) })
}

func normal(scope string) string { return strings.ToLower(strings.TrimRight(scope, "/")) }

func within(scope, ancestor string) bool {
	return scope == ancestor || strings.HasPrefix(scope, ancestor+"/")
}

func anyAssignment(tx *store.Tx, principalID string, match func(scope, roleID string, created time.Time) bool) bool {
	found := false
	tx.Each(store.ARM, func(_ string, d store.Doc) bool {
		if d["type"] != AssignmentType {
			return true
		}
		p, _ := d["properties"].(store.Doc)
		id, _ := p["principalId"].(string)
		at, _ := p["scope"].(string)
		role, _ := p["roleDefinitionId"].(string)
		found = principalID != "" && strings.EqualFold(id, principalID) && match(normal(at), role, wire.Time(p, "createdOn"))
		return !found
	})
	return found
}

func grants(tx *store.Tx, roleID string, plane Plane, action string) bool {
	for _, p := range permissions(tx, roleID, plane) {
		if p.Allows(action) {
			return true
		}
	}
	return false
}

func permissions(tx *store.Tx, roleID string, plane Plane) []Permission {
	if d, ok := Lookup(roleID); ok {
		if plane == Data {
			return []Permission{{d.DataActions, d.NotDataActions}}
		}
		return []Permission{{d.Actions, d.NotActions}}
	}
	def := customDefinition(tx, roleID)
	p, _ := def["properties"].(store.Doc)
	blocks, _ := p["permissions"].([]any)
	var out []Permission
	for _, b := range blocks {
		doc, _ := b.(store.Doc)
		if plane == Data {
			out = append(out, Permission{texts(doc["dataActions"]), texts(doc["notDataActions"])})
		} else {
			out = append(out, Permission{texts(doc["actions"]), texts(doc["notActions"])})
		}
	}
	return out
}

// customDefinition finds a role made by the user. Its id may be written with any scope in front: the GUID decides.
func customDefinition(tx *store.Tx, roleID string) store.Doc {
	if d := tx.Get(store.ARM, strings.ToLower(roleID)); d != nil {
		return d
	}
	tail := "/providers/microsoft.authorization/roledefinitions/" + strings.ToLower(roleID[strings.LastIndex(roleID, "/")+1:])
	for _, r := range tx.Scan(store.ARM, "") {
		if strings.HasSuffix(r.Key, tail) {
			return r.Doc
		}
	}
	return nil
}

func texts(v any) []string {
	l, _ := v.([]any)
	var out []string
	for _, e := range l {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
