// Package copyprogram gives this program to a container of another image, whose libraries programs need that it starts there.
package copyprogram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// Options of the program.
type Options struct {
	// To is the file that becomes this program.
	To string
}

// AddFlags registers the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.To, "to", "", "file that becomes this program")
}

// Run copies.
func Run(_ context.Context, options Options) error {
	if options.To == "" {
		return errors.New("copy-program: --to is missing; pass the file that becomes this program")
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("copy-program: find this program: %w", err)
	}
	if err := copyFile(self, options.To); err != nil {
		return fmt.Errorf("copy-program: %w", err)
	}
	return nil
}

// copyFile puts a whole program in place: one of a container that was started again may lie there.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	out, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o555) //nolint:gosec // a program, for whomever the other container runs as
	if err != nil {
		return err
	}
	_, err = io.Copy(out, source)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(part, to)
}
