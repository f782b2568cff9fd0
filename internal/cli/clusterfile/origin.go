package clusterfile

import (
	"cmp"

	"github.com/spf13/pflag"
)

// Where a value comes from of which nobody else knows.
const (
	FromFlag    = "flag"
	FromDefault = "default"
)

// Origin is where a value comes from.
type Origin struct {
	Flag, Value, From string
}

// Origins of the values of all members, in the order of the flags' names. from are those that are known of flags that are set: a file, an
// answer.
func Origins(flags *pflag.FlagSet, from map[string]string) []Origin {
	var out []Origin
	flags.VisitAll(func(f *pflag.Flag) {
		switch {
		case !IsMember(f):
		case f.Changed:
			out = append(out, Origin{f.Name, f.Value.String(), cmp.Or(from[f.Name], FromFlag)})
		default:
			out = append(out, Origin{f.Name, f.Value.String(), FromDefault})
		}
	})
	return out
}
