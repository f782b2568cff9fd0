package twin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// ErrLater is what a file is read as that exists only once its pod runs.
var ErrLater = errors.New("it is written when the pod runs")

// Start is how a program is started.
type Start struct {
	Args []string
	// Env has what the container is given; what its image or the kubelet adds is judged nowhere.
	Env map[string]string
	// Release is the version of the payload, of the hosted cluster.
	Release string
	// Read gives a file of the program's, or ErrLater.
	Read func(path string) ([]byte, error)
	// Image gives the key of the image that a reference names, "" where nobody can tell.
	Image func(reference string) string
	// Strict has unknown variables refused.
	Strict bool
}

// Check tells everything that a program would find wrong at its start.
func (p Program) Check(s Start) []error {
	release, err := version.ParseGeneric(s.Release)
	if err != nil {
		return []error{fmt.Errorf("version %q of the payload: %w", s.Release, err)}
	}
	vars := maps.Clone(s.Env)
	if vars == nil {
		vars = map[string]string{}
	}
	vars["release"] = s.Release
	c := checking{start: s, vars: vars}
	flags := at(p.Flags, release)
	given, wrong := readCommand(s.Args, flags)
	c.wrong = append(wrong, given.judge(p.Words, flags, vars)...)
	for _, item := range flags {
		for _, path := range given.flags[item.Name] {
			c.file("flag --"+item.Name, item.Is, path)
		}
	}
	c.environment(at(p.Env, release))
	for _, item := range at(p.Files, release) {
		c.file("the program's own", item.Is, item.Name)
	}
	if p.Config != nil && len(given.flags[p.Config.Flag]) > 0 {
		c.config(*p.Config, at(p.Config.Fields, release), given.flags[p.Config.Flag][0])
	}
	if p.Serves != nil && p.Serves.Certificate != "" {
		c.pair(p.Serves.Certificate, p.Serves.Key, serverUse)
	}
	return c.wrong
}

// checking collects what is wrong.
type checking struct {
	start Start
	vars  map[string]string
	wrong []error
}

func (c *checking) complain(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

func (c *checking) environment(known []Item) {
	for _, item := range known {
		value, given := c.start.Env[item.Name]
		if !given {
			if !item.Optional {
				c.complain("variable %s is missing", item.Name)
			}
			continue
		}
		if err := item.judge(value, c.vars); err != nil {
			c.complain("variable %s %w", item.Name, err)
		}
		c.image("variable "+item.Name, item.Image, value)
		c.file("variable "+item.Name, item.Is, value)
	}
	if !c.start.Strict {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.start.Env)) {
		if find(known, name) == nil {
			c.complain("variable %s is unknown", name)
		}
	}
}

// image sees that a reference names the image of a key.
func (c *checking) image(what, key, reference string) {
	if key == "" {
		return
	}
	if !strings.Contains(reference, "@sha256:") {
		c.complain("%s is %q, which names no image by digest", what, reference)
		return
	}
	if c.start.Image == nil {
		return
	}
	if have := c.start.Image(reference); have != "" && have != key {
		c.complain("%s names the image of %s, want %s", what, have, key)
	}
}
