// Package listing asks the kernel for lists that are complete.
package listing

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// attempts is how often a list is asked for: the kernel interrupts it when an entry comes or goes meanwhile, whoever's it is.
const attempts = 10

// Complete is the list without an interruption.
func Complete[T any](list func() ([]T, error)) (all []T, err error) {
	for range attempts {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, err
}
