// Package pace says how long what the embedded Azure has accepted takes until it shows: its profile.
package pace

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// Profiles.
const (
	Realistic = "realistic" // seconds, as told below; the state of an operation shows only when it ends
	Fast      = "fast"      // everything shows at once
)

// Kinds of what spreads through Azure's directory and its services.
const (
	Identity   = "identity"
	Role       = "role"
	Federation = "federation"
)

// span is the shortest and the longest time that something takes.
type span struct{ from, to time.Duration }

// spreads are how long a new one stays unseen. Azure tells only of minutes, of which these seconds are a small model:
//   - a principal: "a replication delay", https://learn.microsoft.com/azure/role-based-access-control/troubleshooting#symptom---assigning-a-role-to-a-new-principal-sometimes-fails
//   - a role assignment: "can take up to 10 minutes", the same page
//   - a federated credential: "takes time to be propagated", https://learn.microsoft.com/entra/workload-id/workload-identity-federation-considerations#errors
var spreads = map[string]span{
	Identity:   {3 * time.Second, 8 * time.Second},
	Role:       {3 * time.Second, 12 * time.Second},
	Federation: {3 * time.Second, 8 * time.Second},
}

const (
	// refusal is how long the token service goes on refusing who asked before a federated credential had spread: "the directory's cache is populated
	// with old data", the same page.
	refusal = 3 * time.Second
	// keyCache is how long the token service keeps the keys of an issuer. Nothing is promised; tokens of a new key must not be expected to be taken at once.
	keyCache = 10 * time.Second
	// guest is how long an operating system may take until it says that it is provisioned.
	guest = 20 * time.Minute
	// fastGuest is that of the fast profile: many times what a machine takes here.
	fastGuest = 4 * time.Minute
)

// times of a long-running operation.
type times struct{ write, remove, act time.Duration }

// usual are those of a type that is not listed.
var usual = times{time.Second, time.Second, time.Second}

// operations are the times of long-running operations by lower-cased type, in the order of what is seen of them; Azure promises none. A virtual
// machine's is that of its allocation: it boots meanwhile.
var operations = map[string]times{
	"microsoft.compute/virtualmachines":                     {8 * time.Second, 6 * time.Second, 4 * time.Second},
	"microsoft.compute/disks":                               {2 * time.Second, time.Second, time.Second},
	"microsoft.network/virtualnetworks":                     {2 * time.Second, 3 * time.Second, time.Second},
	"microsoft.network/virtualnetworks/subnets":             {2 * time.Second, 2 * time.Second, time.Second},
	"microsoft.network/networksecuritygroups":               {2 * time.Second, 2 * time.Second, time.Second},
	"microsoft.network/networkinterfaces":                   {time.Second, 2 * time.Second, time.Second},
	"microsoft.network/publicipaddresses":                   {time.Second, time.Second, time.Second},
	"microsoft.network/loadbalancers":                       {2 * time.Second, 2 * time.Second, time.Second},
	"microsoft.network/natgateways":                         {3 * time.Second, 3 * time.Second, time.Second},
	"microsoft.network/privatednszones":                     {3 * time.Second, 3 * time.Second, time.Second},
	"microsoft.network/privatednszones/virtualnetworklinks": {3 * time.Second, 3 * time.Second, time.Second},
	"microsoft.network/privateendpoints":                    {4 * time.Second, 4 * time.Second, time.Second},
	"microsoft.network/privatelinkservices":                 {4 * time.Second, 4 * time.Second, time.Second},
	"microsoft.resources/resourcegroups":                    {0, 5 * time.Second, 0},
}

// Profile is how long everything takes. The zero value has everything show at once.
type Profile struct {
	realistic bool
	scale     float64
	operation time.Duration
}

// New makes a profile. Operation is how long any operation of the fast one takes; scale multiplies all times of the realistic one, 1 when it is 0.
func New(name string, operation time.Duration, scale float64) (Profile, error) {
	if scale == 0 {
		scale = 1
	}
	switch name {
	case Realistic:
		return Profile{realistic: true, scale: scale}, nil
	case Fast:
		return Profile{operation: operation}, nil
	}
	return Profile{}, fmt.Errorf("the embedded Azure has no profile %q: use %s or %s", name, Realistic, Fast)
}

// Deferred tells whether what an operation leads to shows only at its end.
func (p Profile) Deferred() bool { return p.realistic }

// Operation is how long a long-running operation takes. Verb is read, write, delete or action.
func (p Profile) Operation(verb, typ string) time.Duration {
	if !p.realistic {
		return p.operation
	}
	t, listed := operations[strings.ToLower(typ)]
	if !listed {
		t = usual
	}
	switch verb {
	case "write":
		return p.scaled(t.write)
	case "delete":
		return p.scaled(t.remove)
	}
	return p.scaled(t.act)
}

// Hides tells whether what was created at a time has not spread yet. The time that it takes is drawn once for each creation, and is the same
// after a restart.
func (p Profile) Hides(kind string, created time.Time) bool {
	if !p.realistic || created.IsZero() {
		return false
	}
	s := spreads[kind]
	h := fnv.New64a()
	fmt.Fprint(h, kind, created.UnixNano())
	const steps = 1000
	return time.Since(created) < p.scaled(s.from+(s.to-s.from)/steps*time.Duration(h.Sum64()%steps))
}

// Refusal is how long the token service remembers that it knew no federated credential.
func (p Profile) Refusal() time.Duration {
	if !p.realistic {
		return 0
	}
	return p.scaled(refusal)
}

// KeyCache is how long the token service keeps the keys of an issuer.
func (p Profile) KeyCache() time.Duration {
	if !p.realistic {
		return 0
	}
	return p.scaled(keyCache)
}

// Guest is how long the guest of a virtual machine may take until it says that it is provisioned.
func (p Profile) Guest() time.Duration {
	if !p.realistic {
		return fastGuest
	}
	return p.scaled(guest)
}

func (p Profile) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * p.scale)
}
