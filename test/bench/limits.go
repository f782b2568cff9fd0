package main

// What the figures of docs/benchmarks.md must reach.
const (
	mostOfBareServer   = 1.2 // API server available, against the hand-written control plane
	mostOfBareAll      = 1.5 // Available, against the same
	mostPool           = 20  // seconds to two Machines Running
	mostMachine        = 12  // seconds from the creation of a virtual machine to the same
	mostMebibytes      = 800 // anonymous memory of one hosted cluster
	mostFleetAvailable = 300 // seconds until twelve hosted clusters are Available
	mostFleetCores     = 0.7 // of twelve hosted clusters at rest
	mostTenNodes       = 90  // seconds from three nodes to ten that are Ready
	mostManyNodes      = 180 // seconds to a hundred hollow nodes that are Ready
	mostSeen           = 5   // seconds until a change of a node pool among them is seen
	mostOfDirectExec   = 2   // exec through the tunnel, against exec in the management cluster
	fleetOfLimits      = 12  // the limits of a fleet are those of this many
)
