// Package parts holds the sources of third-party programs: Go
// modules whose files carry the suffix .in, so that they are data to this
// module and not packages of it.
//
// A module is a directory here. Its go.mod.in pins every dependency, and its
// go.sum.in is complete, so that a build changes neither. All programs of a
// module share compiled packages, which is why there are few modules.
//
// To change a version: copy the module without the suffixes, edit go.mod, run
// go mod tidy -e there and copy it back. -e because two tests of dependencies
// import what no version has; nothing that is built does. Then build all
// parts with an empty GOMODCACHE once, which proves go.sum.
package parts

import "embed"

// Suffix is what every file of a module ends in and loses when unpacked.
const Suffix = ".in"

// Modules kube1343 and kube135 hold another Kubernetes than kube134; the main
// package is that of kube134.
//
// The module externaldns is that project's own go.mod with its name changed:
// in a module of its own nothing else is built again for its sake. So is
// azureworkloadidentity, Azure's webhook for pods, which brings a small stand-in
// for its logging library: that lives at a domain not every proxy carries;
// skipper, the ingress controller of hosted clusters; and metricsserver, which
// does not compile with a later Kubernetes than its own.
//
// The module conformance has Kubernetes' own end-to-end suite. Its go.mod is
// that of kube134 with other tools, so that it pins the same versions and
// shares what is compiled: it is not tidied, which would drop requirements
// that only pin.

// The module csi134 has the driver of Azure's disks and its side-cars. Its
// go.mod is that of kube134 with other tools, for the same reason and with the
// same consequence as that of conformance. The version of the provisioner's
// library that it asks for is not published: provisionerlib has what is called
// of it, over a later one.

// FS has one directory for each module.
//
//go:embed all:conformance all:csi134 all:kube134 all:kube1343 all:kube135 all:metricsserver all:externaldns all:azureworkloadidentity all:skipper
var FS embed.FS
