package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Injector holds the rules. It is safe for concurrent use.
type Injector struct {
	file   string
	exists func(path string) bool
	unseen Unseen

	mu    sync.Mutex
	rules []*state
}

// state is a rule, ready to match.
type state struct {
	Rule
	pattern *regexp.Regexp
	allowed []string
}

// document is the form of the file and of the admin API.
type document struct {
	Rules []Rule `json:"rules"`
}

// Unseen tells whether what was created at a time has not spread yet, without any rule.
type Unseen func(kind string, created time.Time) bool

// Open reads the rules of a file, which need not exist; every change is written back. Exists tells whether a path of the resource manager
// names a resource.
func Open(file string, exists func(path string) bool, unseen Unseen) (*Injector, error) {
	i := &Injector{file: file, exists: exists, unseen: unseen}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return i, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the faults: %w", err)
	}
	var doc document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // a misspelt selector would match everything
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("reading the faults in %s: %w; correct the file or remove it", file, err)
	}
	if i.rules, err = i.prepare(doc.Rules); err != nil {
		return nil, fmt.Errorf("%s: %w; correct the file or remove it", file, err)
	}
	return i, nil
}

// Add puts rules behind those that are there, all or none, and returns them complete. A rule without an id gets one.
func (i *Injector) Add(rules ...Rule) ([]Rule, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := range rules {
		rules[n].Matched, rules[n].Fired = 0, 0
	}
	added, err := i.prepare(rules)
	if err != nil {
		return nil, err
	}
	before := i.rules
	i.rules = append(slices.Clip(before), added...)
	if err := i.save(); err != nil {
		i.rules = before
		return nil, err
	}
	return plain(added), nil
}

// List returns the rules in the order in which they are tried.
func (i *Injector) List() []Rule {
	i.mu.Lock()
	defer i.mu.Unlock()
	return plain(i.rules)
}

// ErrUnknown says that there is no rule with an id.
var ErrUnknown = errors.New("there is no fault with this id")

// Clear removes rules by id, or all when none is named.
func (i *Injector) Clear(ids ...string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range ids {
		if !slices.ContainsFunc(i.rules, func(s *state) bool { return s.ID == id }) {
			return fmt.Errorf("%s: %w", id, ErrUnknown)
		}
	}
	before := i.rules
	i.rules = slices.DeleteFunc(slices.Clone(before), func(s *state) bool { return len(ids) == 0 || slices.Contains(ids, s.ID) })
	if err := i.save(); err != nil {
		i.rules = before
		return err
	}
	return nil
}

// Close writes what the rules have counted.
func (i *Injector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.save()
}

// Now is the time of the token service.
func (i *Injector) Now() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	for _, s := range i.rules {
		now = now.Add(time.Duration(s.Clock))
	}
	return now
}

func plain(in []*state) []Rule {
	out := make([]Rule, len(in))
	for n, s := range in {
		out[n] = s.Rule
	}
	return out
}

// prepare completes rules from their presets, checks them and gives them ids.
func (i *Injector) prepare(rules []Rule) ([]*state, error) {
	taken := map[string]bool{}
	highest := 0
	note := func(id string) {
		taken[id] = true
		if n, err := strconv.Atoi(strings.TrimPrefix(id, "f")); err == nil {
			highest = max(highest, n)
		}
	}
	for _, s := range i.rules {
		note(s.ID)
	}
	var out []*state
	for _, given := range rules {
		r, err := complete(given)
		if err != nil {
			return nil, err
		}
		if err := r.Validate(); err != nil {
			return nil, err
		}
		if r.ID == "" {
			r.ID = "f" + strconv.Itoa(highest+1)
		}
		if taken[r.ID] {
			return nil, fmt.Errorf("fault: the id %q is taken", r.ID)
		}
		note(r.ID)
		pattern, err := compile(r.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, &state{Rule: r, pattern: pattern, allowed: r.methods()})
	}
	return out, nil
}

// save replaces the file. Without rules there is none.
func (i *Injector) save() error {
	if len(i.rules) == 0 {
		if err := os.Remove(i.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the faults: %w", err)
		}
		return nil
	}
	data, err := json.MarshalIndent(document{plain(i.rules)}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(i.file), 0o700); err != nil {
		return fmt.Errorf("writing the faults: %w", err)
	}
	if err := os.WriteFile(i.file+".tmp", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the faults: %w", err)
	}
	return os.Rename(i.file+".tmp", i.file)
}

// fire decides whether a rule that matches hits this request. The n-th draw depends on the seed and n only, so it is the same after a restart.
func (s *state) fire() bool {
	s.Matched++
	if s.Chance > 0 && rand.New(rand.NewPCG(s.Seed, uint64(s.Matched))).Float64() >= s.Chance {
		return false
	}
	s.Fired++
	return true
}

// persist keeps the count of a rule that has an end. What cannot be written shows when the rules next change.
func (i *Injector) persist(s *state) {
	if s.Count > 0 {
		_ = i.save()
	}
}
