package arm

import "strings"

// Kind is what the server knows of a resource type beyond storing its documents. Status codes are those that Azure's SDKs accept: see
// statuscodes.
type Kind struct {
	Type        string // in its canonical case
	async       bool   // PUT and DELETE are long-running operations
	asyncDelete bool
	createOK    bool // a creation answers 200, not 201
	always201   bool
	started     string // state that the answer to a creation shows while it is under way; "" is Creating
	deleteBody  bool   // DELETE answers the last state
	noState     bool   // no provisioningState
	orphan      bool   // may exist without its parent
	missing     string // error code of a missing one, when it differs
	embed       []child
	inline      []string // arrays whose members get ids
	keep        []string // read-only properties that a PUT does not change

	put     func(c *call, r *Resource, old Doc) error // checks and completes a new body; old is nil for a creation
	guard   func(c *call, r *Resource) error          // may refuse a DELETE
	cleanup func(c *call, r *Resource)                // after any removal, also with its resource group
	view    func(c *call, r *Resource, d Doc)         // completes what is shown
}

// child is an array that is stored as resources of their own.
type child struct{ prop, typ string }

func (k *Kind) typeName(asked string) string {
	if k.Type != "" {
		return k.Type
	}
	return asked
}

var unknownKind = &Kind{}

// kinds by lower-cased type.
var kinds = func() map[string]*Kind {
	out := map[string]*Kind{}
	for _, list := range [][]*Kind{resourceKinds, identityKinds, networkKinds, balancerKinds, computeKinds, dnsKinds(), storageKinds, vaultKinds, policyKinds} {
		for _, k := range list {
			out[strings.ToLower(k.Type)] = k
		}
	}
	return out
}

// kindTable is filled once; a function breaks the initialisation cycle between the kinds and the calls that look them up.
var kindTable map[string]*Kind

func init() { kindTable = kinds() }

func kindOf(typ string) *Kind {
	if k := kindTable[strings.ToLower(typ)]; k != nil {
		return k
	}
	return unknownKind
}

// actions are the POST requests, by lower-cased type and action.
var actions map[string]func(c *call, r *Resource) (*reply, error)

func init() {
	actions = map[string]func(c *call, r *Resource) (*reply, error){
		"microsoft.storage/storageaccounts/listkeys":                    listStorageKeys,
		"microsoft.storage/storageaccounts/regeneratekey":               regenerateStorageKey,
		"microsoft.storage/storageaccounts/revokeuserdelegationkeys":    revokeDelegationKeys,
		"microsoft.compute/virtualmachines/start":                       powerAction(wantRunning),
		"microsoft.compute/virtualmachines/poweroff":                    powerAction(wantStopped),
		"microsoft.compute/virtualmachines/deallocate":                  powerAction(wantDeallocated),
		"microsoft.compute/virtualmachines/restart":                     powerAction(wantRestart),
		"microsoft.compute/virtualmachines/redeploy":                    powerAction(wantRestart),
		"microsoft.compute/virtualmachines/retrievebootdiagnosticsdata": bootDiagnostics,
	}
}
