package guest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// builtin are the units of the operating system image; a unit of the same name under /etc replaces one.
var builtin = map[string]string{
	"containerd.service": `[Unit]
Description=containerd container runtime
After=network.target

[Service]
Type=notify
ExecStart=/usr/bin/env containerd --config /etc/containerd/config.toml
Restart=always
RestartSec=1
KillMode=process

[Install]
WantedBy=multi-user.target
`,
}

// unitSet is everything to start: enabled units and what they want or require.
type unitSet map[string]*Unit

// loadUnits reads the enabled units under etc. withBuiltin adds the image's own.
func loadUnits(etc string, withBuiltin bool, log func(string, ...any)) (unitSet, error) {
	enabled, err := enabledUnits(etc)
	if err != nil {
		return nil, err
	}
	if withBuiltin {
		for name := range builtin {
			enabled = append(enabled, name)
		}
	}
	slices.Sort(enabled)
	set := unitSet{}
	for len(enabled) > 0 {
		name := enabled[0]
		enabled = enabled[1:]
		if set[name] != nil {
			continue
		}
		u, err := readUnit(etc, name)
		if errors.Is(err, errNoUnit) {
			log("unit %s: not in this image, ignored", name)
			continue
		}
		if err != nil {
			return nil, err
		}
		set[name] = u
		enabled = append(append(enabled, u.Wants...), u.Requires...)
	}
	return set, set.acyclic()
}

// errNoUnit says that a unit is missing or masked.
var errNoUnit = errors.New("no such unit")

func readUnit(etc, name string) (*Unit, error) {
	text, err := os.ReadFile(filepath.Join(etc, name))
	if link, _ := os.Readlink(filepath.Join(etc, name)); link == "/dev/null" {
		return nil, errNoUnit
	}
	if errors.Is(err, os.ErrNotExist) {
		own, known := builtin[name]
		if !known && strings.HasSuffix(name, ".target") {
			own, known = "[Unit]\n", true // targets are points in time; all of them are reached
		}
		if !known {
			return nil, errNoUnit
		}
		text, err = []byte(own), nil
	}
	if err != nil {
		return nil, fmt.Errorf("unit %s: %w", name, err)
	}
	parts := []io.Reader{bytes.NewReader(text)}
	dropins, err := filepath.Glob(filepath.Join(etc, name+".d", "*.conf"))
	if err != nil {
		return nil, err
	}
	for _, d := range dropins { // Glob sorts
		data, err := os.ReadFile(d)
		if err != nil {
			return nil, fmt.Errorf("unit %s: %w", name, err)
		}
		parts = append(parts, bytes.NewReader(data))
	}
	return ParseUnit(name, parts...)
}

// enabledUnits are those with a link in a .wants or .requires directory and a [Install] section, as systemctl enable would have made.
func enabledUnits(etc string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"*.wants/*", "*.requires/*"} {
		links, err := filepath.Glob(filepath.Join(etc, pattern))
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			name := filepath.Base(l)
			u, err := readUnit(etc, name)
			if err != nil && !errors.Is(err, errNoUnit) {
				return nil, err
			}
			if err == nil && len(u.WantedBy) > 0 {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// before lists what must be active or failed before the unit starts.
func (s unitSet) before(u *Unit) []string {
	var out []string
	for _, n := range u.After {
		if s[n] != nil && n != u.Name {
			out = append(out, n)
		}
	}
	for name, other := range s {
		if slices.Contains(other.Before, u.Name) && name != u.Name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s unitSet) acyclic() error {
	state := map[string]int{} // 1 on the path, 2 done
	var visit func(name string, path []string) error
	visit = func(name string, path []string) error {
		switch state[name] {
		case 1:
			return fmt.Errorf("units wait for each other: %s", strings.Join(append(path, name), " -> "))
		case 2:
			return nil
		}
		state[name] = 1
		for _, dep := range s.before(s[name]) {
			if err := visit(dep, append(path, name)); err != nil {
				return err
			}
		}
		state[name] = 2
		return nil
	}
	for name := range s {
		if err := visit(name, nil); err != nil {
			return err
		}
	}
	return nil
}
