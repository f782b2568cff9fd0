// Package table is what becomes of every member of the API, of every flag and of every annotation, as data: it acts, it is refused, or it is
// accepted and has no effect. Tests hold it against the definitions, the commands, and what is really refused; docs/reference/supported.md
// prints it.
package table

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// Row is what becomes of some fields, flags or annotations. Exactly one of Acts, Refused and Inert says it.
type Row struct {
	For []string `json:"for"`
	// When narrows the row to some values; a name may be in several rows if they say for which.
	When string `json:"when,omitempty"`
	// Acts is the package that reads it, Test the test, or the script, that shows so.
	Acts string `json:"acts,omitempty"`
	Test string `json:"test,omitempty"`
	// Refused is the condition that is False, or words of the error.
	Refused string `json:"refused,omitempty"`
	// Inert is why it has no effect, Seen where its user is told.
	Inert string `json:"inert,omitempty"`
	Seen  string `json:"seen,omitempty"`
	// OpenShift is what acts on it with a payload of OpenShift, where one of Kubernetes has no program for it.
	OpenShift *Acting `json:"openShift,omitempty"`
	// Example is a part of the spec that is refused or without effect.
	Example map[string]any `json:"example,omitempty"`
	// Document is one of spec.config of a NodePool that is refused.
	Document map[string]any `json:"document,omitempty"`
}

// Acting is a package that reads a member, with the test or script that shows so.
type Acting struct {
	Acts string `json:"acts"`
	Test string `json:"test"`
}

// Flags are rows of some commands.
type Flags struct {
	Commands []string  `json:"commands"`
	Rows     []FlagRow `json:"rows"`
}

// FlagRow is a Row whose example is typed.
type FlagRow struct {
	Row `json:",inline"`
	// Typed are the words of a command line that is refused, or warned of.
	Typed string `json:"typed,omitempty"`
	// Beside is what an acting flag is compared with, where it cannot stand alone; nothing by default.
	Beside string `json:"beside,omitempty"`
}

// Load reads one of the tables: hostedcluster, nodepool or annotations.
func Load(name string) ([]Row, error) { return load[Row](name) }

// LoadFlags reads the table of flags.
func LoadFlags() ([]Flags, error) { return load[Flags]("flags") }

func load[T any](name string) ([]T, error) {
	raw, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	var rows []T
	// Strict: a mistyped member is no row.
	if err := yaml.UnmarshalStrict(raw, &rows); err != nil {
		return nil, fmt.Errorf("%s.yaml: %w", name, err)
	}
	return rows, nil
}
