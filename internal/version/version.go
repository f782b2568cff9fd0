// Package version knows the build's version and the images it uses unless told otherwise. The values are set at link
// time: -ldflags "-X github.com/hypershift-on-azure/hypershift/internal/version.Version=...". It imports next to nothing, since internal/cli/quick
// answers with it before other packages begin.
package version

import (
	"fmt"
	"runtime"
)

var (
	// Version of this build.
	Version = "v0.1.0-dev"
	// Commit that this program was built from, empty in a build by hand: internal/buildinfo finds it then.
	Commit = ""
	// OperatorRepository holds the operator's images, one tag a version.
	OperatorRepository = "quay.io/hypershift/hypershift-operator"
	// ExternalDNSImage is what `install` uses unless told otherwise: the vendor's, whose pull needs the vendor's pull secret, or
	// another that has the program as /external-dns.
	ExternalDNSImage = "registry.redhat.io/edo/external-dns-rhel8@sha256:9f60c682b44497d9736a04991c0d2b3485d477f6c89a87c4a44a211a3d1f3cd4"
	// ReleaseImage is what `create cluster` uses when no release image is given; empty means that one must be given.
	ReleaseImage = ""
)

// ExternalDNSVersion is the release of ExternalDNS that this version installs.
const ExternalDNSVersion = "v0.18.0"

// OperatorImage is what `install` deploys.
func OperatorImage() string { return OperatorRepository + ":" + Version }

// OperatorImageIn is the name of the operator's image in a registry of the user's; the registry may have a path.
func OperatorImageIn(registry string) string { return registry + "/hypershift-operator:" + Version }

// ExternalDNSImageIn is the name of the image of ExternalDNS in a registry of the user's.
func ExternalDNSImageIn(registry string) string {
	return registry + "/external-dns:" + ExternalDNSVersion
}

// Client is the line that `hypershift version` begins with, for the commit that the program was built from.
func Client(commit string) string {
	return fmt.Sprintf("Client Version: %s (commit %s, %s, %s)", Version, commit, runtime.Version(), Platform)
}

// Platform is the operating system and the processor that this program was built for.
const Platform = runtime.GOOS + "/" + runtime.GOARCH
