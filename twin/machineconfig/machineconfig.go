// Package machineconfig has stand-ins of the programs by which an OpenShift payload renders the configuration of its machines. They know the
// flags and the files of those programs, refuse what is unknown, missing or not of its form, and render as little as shows what they were given.
package machineconfig

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// Names of the programs in their images, below usr/bin.
const (
	Operator   = "machine-config-operator"
	Controller = "machine-config-controller"
	Server     = "machine-config-server"
	// Render is of image cluster-config-api, OldRender of cluster-config-operator before 4.15.
	Render    = "render"
	OldRender = "cluster-config-operator"
)

// Programs of image machine-config-operator, below usr/bin.
var Programs = []string{Operator, Controller, Server}

// Templates are files that image machine-config-operator has below etc/mcc/templates.
var Templates = map[string]string{
	"common/_base/files/twin.yaml":  "path: /etc/twin\nmode: 0644\n",
	"azure/_base/files/twin.yaml":   "path: /etc/twin-azure\nmode: 0644\n",
	"worker/00-worker/units/u.yaml": "name: twin.service\n",
	"master/00-master/units/u.yaml": "name: twin.service\n",
}

var programs = map[string]func(args []string, out io.Writer) error{
	Operator: operator, Controller: controller, Server: server, Render: render, OldRender: oldRender,
}

// ImageKey is the payload's key of the image with Programs and Templates, in which the ignition server runs them, and Render of another image.
const ImageKey = "machine-config-operator"

// Run runs a program of the name, as its main function would.
func Run(name string, args []string) error {
	run, known := programs[name]
	if !known {
		return fmt.Errorf("no stand-in is called %s", name)
	}
	if err := run(args, os.Stderr); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Main runs a program of the name, as its main function would, and returns its exit status.
func Main(name string, args []string) int {
	if err := Run(name, args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// flags are those of a subcommand: each takes a value, is given once at most, and must be given unless it is optional.
type flags struct {
	set      *pflag.FlagSet
	values   map[string]*string
	optional []string
}

func newFlags(optional []string, required ...string) *flags {
	f := &flags{set: pflag.NewFlagSet("", pflag.ContinueOnError), values: map[string]*string{}, optional: optional}
	f.set.SetOutput(io.Discard)
	for _, name := range slices.Concat(required, optional) {
		f.values[name] = f.set.String(name, "", "")
	}
	return f
}

// parse takes the subcommand's arguments; subcommand is empty for a program without any.
func (f *flags) parse(subcommand string, args []string) error {
	if subcommand != "" {
		if len(args) == 0 || args[0] != subcommand {
			return fmt.Errorf("%q is no subcommand of it, %s is", args, subcommand)
		}
		args = args[1:]
	}
	seen := map[string]bool{}
	err := f.set.ParseAll(args, func(flag *pflag.Flag, value string) error {
		if seen[flag.Name] {
			return fmt.Errorf("--%s is given twice", flag.Name)
		}
		seen[flag.Name] = true
		return f.set.Set(flag.Name, value)
	})
	if err != nil {
		return err
	}
	if rest := f.set.Args(); len(rest) > 0 {
		return fmt.Errorf("%q are no flags", rest)
	}
	for name := range f.values {
		if !seen[name] && !slices.Contains(f.optional, name) {
			return fmt.Errorf("--%s is missing", name)
		}
	}
	return nil
}

func (f *flags) get(name string) string { return *f.values[name] }

// check looks at flags in their order.
func (f *flags) check(checks ...flagCheck) error {
	for _, c := range checks {
		if err := c.look(f.get(c.name)); err != nil {
			return fmt.Errorf("--%s %s: %w", c.name, f.get(c.name), err)
		}
	}
	return nil
}

type flagCheck struct {
	name string
	look func(value string) error
}

func isVersion(value string) error {
	_, err := version.ParseSemantic(value)
	return err
}

// isDirectory: it is there, and nobody else looks into it.
func isDirectory(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("not an absolute path")
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("not a directory")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others may look into it: %s", info.Mode())
	}
	return nil
}

// decode reads a file of YAML, of which every member must be known.
func decode(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(raw, into)
}

func writeYAML(path string, content any) error {
	raw, err := yaml.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}
