// Package parts holds the sources of the sandbox's third-party programs: Go
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

// The module externaldns is that project's own go.mod with its name changed:
// in a module of its own nothing else is built again for its sake. So is
// azureworkloadidentity, Azure's webhook for pods, which brings a small stand-in
// for its logging library: that lives at a domain not every proxy carries; and
// skipper, the ingress controller of hosted clusters.

// FS has one directory for each module.
//
//go:embed all:kube134 all:externaldns all:azureworkloadidentity all:skipper
var FS embed.FS
