package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdicts of tests.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped" // by the test itself, which says why
)

// A result is what came of a test.
type result struct {
	Verdict string  `json:"verdict"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message,omitempty"` // first line of what failed, or why it was skipped
	Image   string  `json:"image,omitempty"`   // that could not be pulled
}

// results are by the tests' names. A test that did not run has none.
type results map[string]result

const resultsFile = "results.json"

func readResults(dir string) (results, error) {
	text, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return results{}, nil
	}
	if err != nil {
		return nil, err
	}
	var r results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to begin anew", filepath.Join(dir, resultsFile), err)
	}
	return r, nil
}

func (r results) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, resultsFile), append(text, '\n'), 0o644)
}

// without are the names that have no result.
func (r results) without(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := r[name]; return ok })
}

// spec is a test in a report of Ginkgo.
type spec struct {
	ContainerHierarchyTexts    []string
	LeafNodeText               string
	State                      string
	RunTime                    time.Duration
	CapturedGinkgoWriterOutput string
	Failure                    struct{ Message string }
}

func (s spec) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

// add takes the results of the named tests from a report of Ginkgo. What was not begun, or was stopped, has no result.
func (r results) add(report string, names []string) error {
	text, err := os.ReadFile(report)
	if err != nil {
		return err
	}
	var suites []struct{ SpecReports []spec }
	if err := json.Unmarshal(text, &suites); err != nil {
		return fmt.Errorf("%s: %w", report, err)
	}
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			name := s.name()
			if !slices.Contains(names, name) {
				continue
			}
			if found, ok := s.result(); ok {
				r[name] = found
			}
		}
	}
	return nil
}

// result is what a report says of a test; it says nothing of one that did not run to its end.
func (s spec) result() (result, bool) {
	found := result{Seconds: s.RunTime.Round(100 * time.Millisecond).Seconds(), Message: firstLine(s.Failure.Message)}
	switch s.State {
	case "passed":
		found.Verdict, found.Message = passed, ""
	case "failed", "panicked", "timedout":
		if s.Failure.Message == suiteTimeout {
			return found, false
		}
		found.Verdict = failed
		if match := unpullable.FindStringSubmatch(s.CapturedGinkgoWriterOutput); match != nil {
			found.Image = match[1]
		}
	case "skipped":
		found.Verdict = skipped
		return found, s.Failure.Message != ""
	default:
		return found, false
	}
	return found, true
}

// suiteTimeout is what Ginkgo says of a test that ran when the time of all was over.
const suiteTimeout = "A suite timeout occurred"

// unpullable is the event of an image that a node cannot pull.
var unpullable = regexp.MustCompile(`Failed to pull image \\?"([^"\\]+)\\?"`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}
