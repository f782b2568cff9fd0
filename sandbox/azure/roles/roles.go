// Package roles knows Azure's built-in roles and decides who may do what: role assignments are read from the store like any other resource.
package roles

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
)

// Source and date of each role are in the file.
//
//go:embed builtin.json
var builtinJSON []byte

// Definition of a role, with the permissions of its only permission block.
type Definition struct {
	Name           string   `json:"name"`
	ID             string   `json:"id"`
	Description    string   `json:"description"`
	Actions        []string `json:"actions"`
	NotActions     []string `json:"notActions"`
	DataActions    []string `json:"dataActions"`
	NotDataActions []string `json:"notDataActions"`
}

// Builtin roles, parsed once.
var Builtin = sync.OnceValue(func() []Definition {
	var out []Definition
	if err := json.Unmarshal(builtinJSON, &out); err != nil {
		panic(fmt.Sprintf("the embedded list of roles: %v", err))
	}
	return out
})

// builtinByID finds a built-in role by its lower-cased GUID.
var builtinByID = sync.OnceValue(func() map[string]Definition {
	out := map[string]Definition{}
	for _, d := range Builtin() {
		out[strings.ToLower(d.ID)] = d
	}
	return out
})

// Document is the role definition as ARM shows it.
func (d Definition) Document(subscription string) store.Doc {
	id := "/providers/Microsoft.Authorization/roleDefinitions/" + d.ID
	if subscription != "" {
		id = "/subscriptions/" + subscription + id
	}
	return store.Doc{
		"id": id, "name": d.ID, "type": "Microsoft.Authorization/roleDefinitions",
		"properties": store.Doc{
			"roleName": d.Name, "type": "BuiltInRole", "description": d.Description, "assignableScopes": []any{"/"},
			"permissions": []any{store.Doc{
				"actions": list(d.Actions), "notActions": list(d.NotActions),
				"dataActions": list(d.DataActions), "notDataActions": list(d.NotDataActions),
			}},
		},
	}
}

func list(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// Lookup finds a built-in role by GUID or by full resource id.
func Lookup(id string) (Definition, bool) {
	d, ok := builtinByID()[strings.ToLower(id[strings.LastIndex(id, "/")+1:])]
	return d, ok
}
