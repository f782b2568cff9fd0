package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// call is one that Azure forces: what comes behind it in a chain needs what it makes.
type call struct {
	method, path string // end of the URL's path; /* at its end is anything behind it
	why          string
	wait         time.Duration // that Azure asks for, by Retry-After, before the next call
}

// pollAfter is the embedded Azure's Retry-After for a long-running operation.
const pollAfter = 50 * time.Millisecond

var (
	discovery = call{http.MethodGet, "/v2.0/.well-known/openid-configuration", "Microsoft's library for signing in asks it where tokens are", 0}
	token     = call{http.MethodPost, "/oauth2/v2.0/token", "no call without a token", 0}
	shared    = call{http.MethodPut, "/resourceGroups/" + common, "a resource needs its group", 0}
)

const (
	network  = "/providers/Microsoft.Network/"
	identity = "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo-disk-demo-x1"
)

// operation is the poll of a long-running operation.
func operation(why string) call {
	return call{http.MethodGet, "/locations/eastus/operations/*", why, 0}
}

// chains are all that could be the longest. Not in them is what Azure does not force: the look before a first write, which is ours, and what
// can be asked at the same time as something in the chain, such as the token for the blobs and the role on the account.
var chains = map[string][]call{
	"issuer": {discovery, token, shared,
		{http.MethodPut, "/storageAccounts/*", "an account is in a group", 0},
		{http.MethodPut, "/containers/demo", "a container is in an account", 0},
		{http.MethodPut, "/openid/v1/jwks", "a blob is in a container", 0},
		{http.MethodGet, "/openid/v1/jwks", "only a read without a token shows that Entra can read it", 0}},
	"identities": {discovery, token, shared,
		{http.MethodPut, identity, "an identity is in a group", 0},
		{http.MethodPut, identity + "/federatedIdentityCredentials/demo-disk-fed-id-node", "a credential is in an identity", 0},
		{http.MethodPut, identity + "/federatedIdentityCredentials/demo-disk-fed-id-operator", "one write at a time on an identity", 0},
		{http.MethodPut, identity + "/federatedIdentityCredentials/demo-disk-fed-id-controller", "one write at a time on an identity", 0}},
	"roles": {discovery, token, shared,
		{http.MethodPut, identity, "the identity's principal is known once it is made", 0},
		{http.MethodPut, "/resourceGroups/demo-demo-x1/providers/Microsoft.Authorization/roleAssignments/*", "a role needs its principal", 0}},
	"DNS": {discovery, token, shared,
		{http.MethodPut, network + "dnsZones/" + zone, "a zone is in a group", 0},
		{http.MethodPut, network + "dnszones/" + parentZone + "/NS/clusters", "the zone's name servers are known once it is made", 0}},
	"network": {discovery, token,
		{http.MethodPut, "/resourceGroups/demo-nsg-demo-x1", "a resource needs its group", 0},
		{http.MethodPut, network + "networkSecurityGroups/demo-demo-x1-nsg", "a security group is in a group", pollAfter},
		operation("its operation has to have ended before something refers to it"),
		{http.MethodPut, network + "virtualNetworks/demo-demo-x1", "the subnet refers to the security group", pollAfter},
		operation("its operation has to have ended before something refers to it"),
		{http.MethodPut, "/virtualNetworkLinks/demo-demo-x1", "the link refers to the network", pollAfter},
		operation("done is when the operation has ended")},
	"egress": {discovery, token,
		{http.MethodPut, "/resourceGroups/demo-demo-x1", "a resource needs its group", 0},
		{http.MethodPut, network + "publicIPAddresses/demo-x1", "an address is in a group", pollAfter},
		operation("its operation has to have ended before something refers to it"),
		{http.MethodPut, network + "loadBalancers/demo-x1", "the balancer refers to the address", pollAfter},
		operation("done is when the operation has ended")},
}

func least(chain []call) time.Duration {
	var sum time.Duration
	for _, c := range chain {
		sum += latency + c.wait
	}
	return sum
}

// criticalPath is the longest chain.
func criticalPath() (name string, chain []call) {
	for n, c := range chains {
		if least(c) > least(chain) || least(c) == least(chain) && n < name {
			name, chain = n, c
		}
	}
	return name, chain
}

// check finds each chain in what a run asked, one call behind the end of the other: nobody has found a shorter one.
func check(j journey) error {
	for name, chain := range chains {
		at := time.Time{}
		for _, c := range chain {
			e, ok := j.find(at, c)
			if !ok {
				return fmt.Errorf("the declared chain %q is not that of the run: no %s %s came after the call before it", name, c.method, c.path)
			}
			at = end(e)
		}
	}
	return nil
}

func printPath(w io.Writer) {
	name, chain := criticalPath()
	fmt.Fprintf(w, "critical path: %s, %d calls, %s (%s without the discovery)\n", name, len(chain), least(chain), least(chain[1:]))
	for _, c := range chain {
		wait := ""
		if c.wait > 0 {
			wait = ", then wait " + c.wait.String()
		}
		fmt.Fprintf(w, "  %-4s …%s%s: %s\n", c.method, strings.TrimSuffix(c.path, "*"), wait, c.why)
	}
}
