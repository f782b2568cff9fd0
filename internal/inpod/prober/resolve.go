package prober

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/spf13/pflag"
)

// ResolveOptions say which name must lead where.
type ResolveOptions struct {
	Name string
	// Address that the name must have; any when empty.
	Address string
}

// AddFlags registers the options.
func (o *ResolveOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Name, "name", "", "name to look up")
	flags.StringVar(&o.Address, "address", "", "address that it must have, if any one is not enough")
}

// Resolve returns when the name leads where it should, or with ctx's error.
func Resolve(ctx context.Context, o ResolveOptions) error {
	return o.resolve(ctx, net.DefaultResolver.LookupHost)
}

func (o ResolveOptions) resolve(ctx context.Context, lookup func(context.Context, string) ([]string, error)) error {
	if o.Name == "" {
		return errors.New("nothing to look up: pass --name")
	}
	return wait(ctx, o.Name, func(ctx context.Context) error {
		addresses, err := lookup(ctx, o.Name)
		if err != nil {
			return err
		}
		if o.Address != "" && !slices.Contains(addresses, o.Address) {
			return fmt.Errorf("it leads to %v, not to %s", addresses, o.Address)
		}
		return nil
	})
}
