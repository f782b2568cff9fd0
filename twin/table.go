// Package twin is what a twin of an OpenShift payload is made of: checkers, which stand where OpenShift's own programs would. A checker
// judges its command line, its environment, its configuration and its files by what is documented of the program it stands for, serves what
// is probed, reaches the API servers it is led to, and leaves the program's work out. No claim about OpenShift rests on more than that.
package twin

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

//go:embed programs.yaml
var programsFile []byte

// Item is one thing that is known of a program: a flag, a variable, a file, or a field of its configuration.
type Item struct {
	Name string `json:"name"`
	// Value, Values and Form are what it may be; with none of them it is anything but nothing.
	Value  *string  `json:"value,omitempty"`
	Values []string `json:"values,omitempty"`
	Form   string   `json:"form,omitempty"`
	// Image is the key of the payload whose image it names.
	Image string `json:"image,omitempty"`
	// Is says what a file is.
	Is string `json:"is,omitempty"`
	// Bare is a flag without a value, Any one that is repeated at will, Whole a field with whatever is below it.
	Bare     bool   `json:"bare,omitempty"`
	Any      bool   `json:"any,omitempty"`
	Whole    bool   `json:"whole,omitempty"`
	Optional bool   `json:"optional,omitempty"`
	Since    string `json:"since,omitempty"`
	Before   string `json:"before,omitempty"`
}

// Config is a program's configuration file.
type Config struct {
	// Flag names the file.
	Flag   string   `json:"flag"`
	Kind   string   `json:"kind"`
	Use    []string `json:"use,omitempty"`
	Fields []Item   `json:"fields,omitempty"`
}

// Serving is what a program listens by; without a certificate it is plain HTTP.
type Serving struct {
	Port        int    `json:"port"`
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"`
	// Also are paths beside those that every checker answers.
	Also []string `json:"also,omitempty"`
}

// Etcd is by what an aggregated API server reaches its store.
type Etcd struct {
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Operand is a Deployment with the image that a variable names.
type Operand struct {
	Deployment string `json:"deployment"`
	Container  string `json:"container"`
	Image      string `json:"image"`
}

// Program is what is known of one.
type Program struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	// EntryPoint tells that the image starts it by itself.
	EntryPoint bool `json:"entryPoint,omitempty"`
	// Once tells that it ends.
	Once bool `json:"once,omitempty"`
	// Real tells that a program of the community's does its work, once the checker has judged.
	Real bool `json:"real,omitempty"`
	// Words are its arguments that are no flags.
	Words  []string `json:"words,omitempty"`
	Use    []string `json:"use,omitempty"`
	UseEnv []string `json:"useEnv,omitempty"`
	Flags  []Item   `json:"flags,omitempty"`
	Env    []Item   `json:"env,omitempty"`
	Files  []Item   `json:"files,omitempty"`
	Config *Config  `json:"config,omitempty"`
	Serves *Serving `json:"serves,omitempty"`
	// Account tells that it reaches the API server of its pod's account; Reaches are kubeconfigs that no flag names.
	Account bool     `json:"account,omitempty"`
	Reaches []string `json:"reaches,omitempty"`
	// Operands are Deployments that it makes beside itself: a checker's do nothing.
	Operands []Operand `json:"operands,omitempty"`
	// Groups are the APIs that it serves behind the API server, Etcd where it keeps their objects.
	Groups []string `json:"groups,omitempty"`
	Etcd   *Etcd    `json:"etcd,omitempty"`
}

// Programs are those that there is a checker for.
func Programs() ([]Program, error) {
	var file struct {
		Sets     map[string][]Item `json:"sets"`
		Programs []Program         `json:"programs"`
	}
	if err := yaml.UnmarshalStrict(programsFile, &file); err != nil {
		return nil, fmt.Errorf("read the table of programs: %w", err)
	}
	add := func(of string, items []Item, sets []string) ([]Item, error) {
		for _, name := range sets {
			if file.Sets[name] == nil {
				return nil, fmt.Errorf("table of programs: %s uses %s, which is no set", of, name)
			}
			items = append(items, file.Sets[name]...)
		}
		return items, nil
	}
	for i := range file.Programs {
		p := &file.Programs[i]
		var err error
		if p.Flags, err = add(p.Name, p.Flags, p.Use); err != nil {
			return nil, err
		}
		if p.Env, err = add(p.Name, p.Env, p.UseEnv); err != nil {
			return nil, err
		}
		if p.Config == nil {
			continue
		}
		c := *p.Config // two programs may share one
		if c.Fields, err = add(p.Name, slices.Clone(c.Fields), c.Use); err != nil {
			return nil, err
		}
		p.Config = &c
	}
	return file.Programs, nil
}

// Find gives the program of a name.
func Find(programs []Program, name string) *Program {
	for i := range programs {
		if programs[i].Name == name {
			return &programs[i]
		}
	}
	return nil
}

// of tells whether a version of the payload has the item.
func (i Item) of(release *version.Version) bool {
	minor := version.MajorMinor(release.Major(), release.Minor())
	return (i.Since == "" || !minor.LessThan(version.MustParseGeneric(i.Since))) && (i.Before == "" || minor.LessThan(version.MustParseGeneric(i.Before)))
}

// at are the items that a version has.
func at(items []Item, release *version.Version) []Item {
	var out []Item
	for _, item := range items {
		if item.of(release) {
			out = append(out, item)
		}
	}
	return out
}

// judge tells what is wrong with a value; vars are what its table may name by $.
func (i Item) judge(value string, vars map[string]string) error {
	switch {
	case i.Value != nil && value != expand(*i.Value, vars):
		return fmt.Errorf("is %q, want %q", value, expand(*i.Value, vars))
	case i.Value == nil && value == "":
		return fmt.Errorf("is empty")
	case i.Form != "" && !regexp.MustCompile(i.Form).MatchString(value):
		return fmt.Errorf("is %q, which does not match %s", value, i.Form)
	}
	return nil
}

var variable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

func expand(text string, vars map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string { return vars[name[1:]] })
}

// answered are the paths that every checker that serves anything answers.
var answered = []string{"/healthz", "/livez", "/readyz", "/metrics"}

// Answers tells whether the program answers a request for the path.
func (p Program) Answers(port int, path string, secure bool) bool {
	return p.Serves != nil && p.Serves.Port == port && secure == (p.Serves.Certificate != "") &&
		(slices.Contains(answered, path) || slices.Contains(p.Serves.Also, path))
}
