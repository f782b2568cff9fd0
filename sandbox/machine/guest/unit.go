package guest

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

// Unit is a systemd service as far as the embedded virtual machine understands it.
type Unit struct {
	Name string

	After, Before, Wants, Requires []string
	ConditionPathExists            []string // a leading ! negates

	Type            string // simple, exec, notify, oneshot
	ExecStartPre    []Command
	ExecStart       []Command
	ExecStartPost   []Command
	ExecStop        []Command
	Environment     []string // KEY=VALUE
	EnvironmentFile []string // a leading - makes the file optional
	WorkingDir      string
	Restart         string // no, always, on-failure, on-abnormal, on-success
	RestartPause    time.Duration
	StartTimeout    time.Duration // 0 is none
	RemainAfterExit bool
	KillMode        string // process leaves the children of the main program alone when it has ended

	WantedBy []string
}

// Command of a unit: Words before variables are expanded.
type Command struct {
	Words         []string
	IgnoreFailure bool
}

// ErrDirective says that a unit uses something this operating system does not have. The boot fails: silently dropping a directive would
// make the sandbox pass what a real machine does not.
var ErrDirective = errors.New("directive not supported by the embedded virtual machine")

// setters by section and directive. An empty value resets a list, as in systemd.
var setters = map[string]func(*Unit, string) error{
	"Unit.Description":           ignore,
	"Unit.Documentation":         ignore,
	"Unit.After":                 names(func(u *Unit) *[]string { return &u.After }),
	"Unit.Before":                names(func(u *Unit) *[]string { return &u.Before }),
	"Unit.Wants":                 names(func(u *Unit) *[]string { return &u.Wants }),
	"Unit.Requires":              names(func(u *Unit) *[]string { return &u.Requires }),
	"Unit.ConditionPathExists":   lines(func(u *Unit) *[]string { return &u.ConditionPathExists }),
	"Service.Type":               oneOf(func(u *Unit) *string { return &u.Type }, "simple", "exec", "notify", "oneshot"),
	"Service.ExecStartPre":       commands(func(u *Unit) *[]Command { return &u.ExecStartPre }),
	"Service.ExecStart":          commands(func(u *Unit) *[]Command { return &u.ExecStart }),
	"Service.ExecStartPost":      commands(func(u *Unit) *[]Command { return &u.ExecStartPost }),
	"Service.ExecStop":           commands(func(u *Unit) *[]Command { return &u.ExecStop }),
	"Service.Environment":        words(func(u *Unit) *[]string { return &u.Environment }),
	"Service.EnvironmentFile":    lines(func(u *Unit) *[]string { return &u.EnvironmentFile }),
	"Service.WorkingDirectory":   workingDir,
	"Service.Restart":            oneOf(func(u *Unit) *string { return &u.Restart }, "no", "always", "on-failure", "on-abnormal", "on-success"),
	"Service.RestartSec":         span(func(u *Unit) *time.Duration { return &u.RestartPause }),
	"Service.TimeoutStartSec":    span(func(u *Unit) *time.Duration { return &u.StartTimeout }),
	"Service.RemainAfterExit":    func(u *Unit, v string) (err error) { u.RemainAfterExit, err = boolean(v); return err },
	"Install.WantedBy":           names(func(u *Unit) *[]string { return &u.WantedBy }),
	"Install.RequiredBy":         names(func(u *Unit) *[]string { return &u.WantedBy }),
	"Service.SyslogIdentifier":   ignore, // the log is named after the unit
	"Service.StandardOutput":     oneOf(func(*Unit) *string { return new(string) }, "journal", "journal+console", "inherit"),
	"Service.StandardError":      oneOf(func(*Unit) *string { return new(string) }, "journal", "journal+console", "inherit"),
	"Unit.DefaultDependencies":   ignore, // there is no early boot to keep out of
	"Unit.StartLimitIntervalSec": ignore, // restarts are never limited here
	"Service.LimitNOFILE":        ignore, // limits are those of the machine that runs the sandbox
	"Service.LimitNPROC":         ignore,
	"Service.LimitCORE":          ignore,
	"Service.TasksMax":           ignore,
	"Service.Delegate":           ignore, // every service may make cgroups
	"Service.KillMode":           oneOf(func(u *Unit) *string { return &u.KillMode }, "process", "control-group", "mixed"),
	"Service.OOMScoreAdjust":     ignore, // needs a capability that may be missing
	"Service.TimeoutStopSec":     ignore, // power off is short
}

func workingDir(u *Unit, v string) error {
	if !filepath.IsAbs(v) {
		return fmt.Errorf("%q is no absolute path: %w", v, ErrDirective)
	}
	u.WorkingDir = v
	return nil
}

// ParseUnit reads a unit file followed by its drop-ins, in order.
func ParseUnit(name string, files ...io.Reader) (*Unit, error) {
	if !strings.HasSuffix(name, ".service") && !strings.HasSuffix(name, ".target") {
		return nil, fmt.Errorf("unit %s: only services and targets: %w", name, ErrDirective)
	}
	u := &Unit{Name: name, RestartPause: 100 * time.Millisecond, Restart: "no"}
	for _, file := range files {
		options, err := unit.DeserializeOptions(file)
		if err != nil {
			return nil, fmt.Errorf("unit %s: %w", name, err)
		}
		for _, o := range options {
			set := setters[o.Section+"."+o.Name]
			if set == nil {
				return nil, fmt.Errorf("unit %s: [%s] %s=%s: %w", name, o.Section, o.Name, o.Value, ErrDirective)
			}
			if err := set(u, strings.TrimSpace(o.Value)); err != nil {
				return nil, fmt.Errorf("unit %s: [%s] %s=%s: %w", name, o.Section, o.Name, o.Value, err)
			}
		}
	}
	return u, u.complete()
}

func (u *Unit) complete() error {
	if u.Type == "" {
		u.Type = "simple"
		if len(u.ExecStart) == 0 {
			u.Type = "oneshot"
		}
	}
	if strings.HasSuffix(u.Name, ".service") && len(u.ExecStart) == 0 && !u.RemainAfterExit {
		return fmt.Errorf("unit %s: a service needs ExecStart", u.Name)
	}
	if u.Type != "oneshot" && len(u.ExecStart) > 1 {
		return fmt.Errorf("unit %s: only a oneshot service may have several ExecStart", u.Name)
	}
	return nil
}

func ignore(*Unit, string) error { return nil }

func names(field func(*Unit) *[]string) func(*Unit, string) error {
	return func(u *Unit, v string) error {
		list := field(u)
		if v == "" {
			*list = nil
		}
		*list = append(*list, strings.Fields(v)...)
		return nil
	}
}

func lines(field func(*Unit) *[]string) func(*Unit, string) error {
	return func(u *Unit, v string) error {
		list := field(u)
		if v == "" {
			*list = nil
			return nil
		}
		*list = append(*list, v)
		return nil
	}
}

func words(field func(*Unit) *[]string) func(*Unit, string) error {
	return func(u *Unit, v string) error {
		list := field(u)
		if v == "" {
			*list = nil
			return nil
		}
		split, err := splitWords(v)
		if err != nil {
			return err
		}
		*list = append(*list, split...)
		return nil
	}
}

func commands(field func(*Unit) *[]Command) func(*Unit, string) error {
	return func(u *Unit, v string) error {
		list := field(u)
		if v == "" {
			*list = nil
			return nil
		}
		c := Command{}
		if strings.HasPrefix(v, "-") {
			c.IgnoreFailure, v = true, v[1:]
		}
		if strings.IndexAny(v, "@:+!") == 0 {
			return fmt.Errorf("prefix %q: %w", v[:1], ErrDirective)
		}
		split, err := splitWords(v)
		if err != nil {
			return err
		}
		if len(split) == 0 || !strings.HasPrefix(split[0], "/") {
			return errors.New("the program must be an absolute path")
		}
		c.Words = split
		*list = append(*list, c)
		return nil
	}
}

func oneOf(field func(*Unit) *string, allowed ...string) func(*Unit, string) error {
	return func(u *Unit, v string) error {
		for _, a := range allowed {
			if v == a {
				*field(u) = v
				return nil
			}
		}
		return fmt.Errorf("value is none of %s: %w", strings.Join(allowed, ", "), ErrDirective)
	}
}

func span(field func(*Unit) *time.Duration) func(*Unit, string) error {
	return func(u *Unit, v string) (err error) {
		*field(u), err = timeSpan(v)
		return err
	}
}

// timeSpan reads systemd's time spans: a bare number is seconds, infinity is none.
func timeSpan(v string) (time.Duration, error) {
	if v == "infinity" {
		return 0, nil
	}
	if n, err := strconv.ParseFloat(v, 64); err == nil && n >= 0 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(strings.NewReplacer(" ", "", "min", "m", "sec", "s").Replace(v))
	if err != nil {
		return 0, fmt.Errorf("not a time span: %w", err)
	}
	return d, nil
}

func boolean(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "yes", "true", "on", "1":
		return true, nil
	case "no", "false", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is not a boolean", v)
}
