// Package buildinfo describes the build of the running program.
package buildinfo

import (
	"runtime"
	"runtime/debug"

	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// Info describes the build.
type Info struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Get returns the description of this build.
func Get() Info {
	return Info{Version: version.Version, Commit: commit(), GoVersion: runtime.Version(), Platform: version.Platform}
}

// commit is the one that the linker was told, else the one that the compiler found.
func commit() string {
	if version.Commit != "" {
		return version.Commit
	}
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
