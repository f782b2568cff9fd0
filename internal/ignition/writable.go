package ignition

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
)

// readOnly are the directories of the operating system that nothing is written to: where they are part of a verified image, Ignition
// fails there and the machine never starts.
var readOnly = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// readOnlyPaths names the files, directories and links of an Ignition configuration that lie in read-only directories of the
// operating system, sorted.
func readOnlyPaths(config types.Config) []string {
	var found []string
	add := func(name string) {
		clean := path.Clean(name)
		if slices.ContainsFunc(readOnly, func(root string) bool { return clean == root || strings.HasPrefix(clean, root+"/") }) {
			found = append(found, name)
		}
	}
	for _, f := range config.Storage.Files {
		add(f.Path)
	}
	for _, d := range config.Storage.Directories {
		add(d.Path)
	}
	for _, l := range config.Storage.Links {
		add(l.Path)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
