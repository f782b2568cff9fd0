package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// A report is what came of the selected tests.
type report struct {
	all      int // tests that Kubernetes calls [Conformance]
	selected []string
	results  results
	missing  []string // images of the suite that cannot be built
	causes   causes
}

// causes are those of tests that are known to fail, by the tests' names.
type causes map[string]string

// readCauses reads known.yaml: a mapping of names to causes.
func readCauses(text []byte, all []string) (causes, error) {
	known := causes{}
	if err := yaml.UnmarshalStrict(text, &known); err != nil {
		return nil, fmt.Errorf("known.yaml: %w", err)
	}
	for name, cause := range known {
		if !slices.Contains(all, name) || cause == "" {
			return nil, fmt.Errorf("known.yaml: %q is no conformance test of Kubernetes %s, or has no cause", name, build.KubernetesVersion)
		}
	}
	return known, nil
}

// named are tests with a reason of each.
type named struct{ name, reason string }

// parts are the selected tests by what came of them.
func (r report) parts() (ok int, bad, noImage, skips, notRun []named) {
	for _, name := range r.selected {
		found, ran := r.results[name]
		switch {
		case !ran:
			notRun = append(notRun, named{name, "no verdict before the time was over"})
		case found.Verdict == passed:
			ok++
		case found.Verdict == skipped:
			skips = append(skips, named{name, found.Message})
		case slices.Contains(r.missing, found.Image):
			noImage = append(noImage, named{name, found.Image})
		case r.causes[name] != "":
			bad = append(bad, named{name, found.Message + " Cause: " + r.causes[name]})
		default:
			bad = append(bad, named{name, found.Message})
		}
	}
	return ok, bad, noImage, skips, notRun
}

// text is the report for a terminal.
func (r report) text() string {
	ok, bad, noImage, skips, notRun := r.parts()
	var out strings.Builder
	for _, part := range []struct {
		verdict string
		tests   []named
	}{{"failed", bad}, {"image missing", noImage}, {"skipped itself", skips}, {"not run", notRun}} {
		for _, test := range part.tests {
			fmt.Fprintf(&out, "  %s: %s\n      %s\n", part.verdict, test.name, test.reason)
		}
	}
	fmt.Fprintf(&out, "conformance: %d of %d selected (Kubernetes %s has %d): %d passed, %d failed, %d need an image that cannot be built, %d skipped themselves, %d not run\n",
		len(r.selected)-len(notRun), len(r.selected), build.KubernetesVersion, r.all, ok, len(bad), len(noImage), len(skips), len(notRun))
	return out.String()
}

// verdict is an error where a test failed without a known cause or did not run, and where one passed that is known to fail.
func (r report) verdict() error {
	_, bad, _, _, notRun := r.parts()
	unknown := slices.DeleteFunc(bad, func(test named) bool { return r.causes[test.name] != "" })
	if len(unknown)+len(notRun) > 0 {
		return fmt.Errorf("%d tests failed whose cause is not known and %d did not run: read together.log and alone.log in the folder of -out", len(unknown), len(notRun))
	}
	for _, name := range r.selected {
		if r.causes[name] != "" && r.results[name].Verdict == passed {
			return fmt.Errorf("%s passes now: take it out of hack/conformance/known.yaml", name)
		}
	}
	return nil
}

// Marks of the part of a page that is computed.
const (
	beginMark = "<!-- computed by hack/conformance.sh -->"
	endMark   = "<!-- end -->"
)

// markdown is the report for the page.
func (r report) markdown() string {
	ok, bad, noImage, skips, notRun := r.parts()
	var out strings.Builder
	fmt.Fprintf(&out, "| Kubernetes %s | Tests |\n|---|---|\n", build.KubernetesVersion)
	fmt.Fprintf(&out, "| called [Conformance] | %d |\n| passed | %d |\n| failed | %d |\n| need an image that cannot be built | %d |\n| skipped themselves | %d |\n| not run | %d |\n",
		r.all, ok, len(bad), len(noImage), len(skips), len(notRun))
	for _, part := range []struct {
		title string
		tests []named
	}{{"Failed", bad}, {"Need an image that cannot be built", noImage}, {"Skipped themselves", skips}, {"Not run", notRun}} {
		if len(part.tests) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n### %s\n\n", part.title)
		for _, test := range part.tests {
			fmt.Fprintf(&out, "- `` %s ``: %s\n", test.name, test.reason) // names have backquotes
		}
	}
	fmt.Fprintf(&out, "\n### Images of the suite that are not built\n\n")
	for _, image := range r.missing {
		fmt.Fprintf(&out, "- `%s`\n", image)
	}
	return out.String()
}

// replaceIn writes the report into a page, between the marks.
func (r report) replaceIn(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return fmt.Errorf("%s has no part between %s and %s", page, beginMark, endMark)
	}
	return os.WriteFile(page, []byte(before+beginMark+"\n\n"+r.markdown()+"\n"+endMark+after), 0o644)
}
