// Package contract has the names that packages of this project agree on: objects, their keys, labels, environment variables and
// addresses, a file for each kind of name. The names that users set (annotations, labels of the API) are in api/v1beta1; a name that one
// package alone uses stays in it. A test finds names that are spelt out twice.
package contract

// OAuthCallback is the path, below that of the OAuth server, to which identity providers send users back.
const OAuthCallback = "/oauth2callback/[identity-provider-name]"

// DefaultAdvertiseAddress is where a guest's nodes reach their API server when the HostedCluster names no address, IPv4.
const DefaultAdvertiseAddress = "172.20.0.1"

// CloudTokenAudience is the audience of tokens that Entra exchanges.
const CloudTokenAudience = "api://AzureADTokenExchange"

// InPlaceUpdates is the Secret of a control-plane namespace in which each node pool whose machines are changed in place says where they find
// what they are to be, under InPlaceUpdateKey.
const InPlaceUpdates = "in-place-updates"

// InPlaceUpdateKey is the key of a node pool and the hash of its target configuration. The name of such a pool has no dot.
func InPlaceUpdateKey(pool, target string) string { return pool + "." + target }

// PoolToken is the Secret of a control-plane namespace with a node pool's token for a configuration; of a pool that the payload's own daemon
// changes in place it has that configuration, too.
func PoolToken(pool, target string) string { return "token-" + pool + "-" + target }

// InPlaceTokens is the Role by which ConfigOperator reads those Secrets that have a configuration, by their names.
const InPlaceTokens = ConfigOperator + "-tokens"

// ClusterProfile is the profile of OpenShift's manifests that a hosted cluster uses.
const ClusterProfile = "ibm-cloud-managed"

// MachineConfigAPI is the version of the kinds that OpenShift's machine-config programs read.
const MachineConfigAPI = "machineconfiguration.openshift.io/v1"
