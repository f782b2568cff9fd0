// Package version knows the build's version and the images it uses unless told otherwise. The values are set at link
// time: -ldflags "-X github.com/hypershift-on-azure/hypershift/internal/version.Version=...".
package version

import (
	"runtime"
	"runtime/debug"
)

var (
	// Version of this build.
	Version = "v0.1.0-dev"
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

// Info describes the build.
type Info struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Get returns the description of this build.
func Get() Info {
	return Info{Version: Version, Commit: commit(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

func commit() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}
