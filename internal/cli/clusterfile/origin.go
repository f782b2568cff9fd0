package clusterfile

import (
	"slices"

	"github.com/spf13/pflag"
)

// Origin is where a value comes from.
type Origin struct {
	Flag, Value, From string
}

// Origins of all values that a flag, the file or a default says, in the order of the flags' names; what is empty by default is left out.
func Origins(flags *pflag.FlagSet, path string, filled []string) []Origin {
	var out []Origin
	flags.VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		switch {
		case !IsMember(f):
		case slices.Contains(filled, f.Name):
			out = append(out, Origin{f.Name, value, path})
		case f.Changed:
			out = append(out, Origin{f.Name, value, "flag"})
		case value != "" && value != "[]" && value != "false" && value != "0" && value != "0s":
			out = append(out, Origin{f.Name, value, "default"})
		}
	})
	return out
}
