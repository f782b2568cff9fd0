package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/images"
)

const ginkgoReport = `[{"SpecReports": [
  {"ContainerHierarchyTexts": null, "LeafNodeText": "", "State": "passed"},
  {"ContainerHierarchyTexts": ["[a]", "one"], "LeafNodeText": "passes [Conformance]", "State": "passed", "RunTime": 1260000000},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "fails [Conformance]", "State": "failed", "Failure": {"Message": "no answer\nmore"}},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "waits [Conformance]", "State": "timedout", "Failure": {"Message": "too long"},
   "CapturedGinkgoWriterOutput": "event: Failed to pull image \"r.io/c/perl:5.26\": not found"},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "steps back [Conformance]", "State": "skipped", "Failure": {"Message": "only on Windows"}},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "is never begun [Conformance]", "State": "skipped"},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "is stopped [Conformance]", "State": "interrupted", "Failure": {"Message": "stopped"}},
  {"ContainerHierarchyTexts": ["[a]"], "LeafNodeText": "is cut off [Conformance]", "State": "timedout", "Failure": {"Message": "A suite timeout occurred"}},
  {"ContainerHierarchyTexts": ["[b]"], "LeafNodeText": "is another's", "State": "passed"}
]}]`

var ran = []string{"[a] fails [Conformance]", "[a] is cut off [Conformance]", "[a] is never begun [Conformance]", "[a] is stopped [Conformance]", "[a] one passes [Conformance]",
	"[a] steps back [Conformance]", "[a] waits [Conformance]"}

func resultsOf(t *testing.T) results {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte(ginkgoReport), 0o600); err != nil {
		t.Fatal(err)
	}
	r := results{}
	if err := r.add(path, ran); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestResults: a verdict is what the test itself came to; a test that was not begun or was stopped has none.
func TestResults(t *testing.T) {
	want := results{
		"[a] one passes [Conformance]": {Verdict: passed, Seconds: 1.3},
		"[a] fails [Conformance]":      {Verdict: failed, Message: "no answer"},
		"[a] waits [Conformance]":      {Verdict: failed, Message: "too long", Image: "r.io/c/perl:5.26"},
		"[a] steps back [Conformance]": {Verdict: skipped, Message: "only on Windows"},
	}
	got := resultsOf(t)
	for name, r := range want {
		if got[name] != r {
			t.Errorf("%s: %+v, want %+v", name, got[name], r)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d results, want %d: %v", len(got), len(want), got)
	}
	if left := got.without(ran); !slices.Equal(left, ran[1:4]) {
		t.Errorf("without a verdict: %v", left)
	}
	dir := t.TempDir()
	if err := got.write(dir); err != nil {
		t.Fatal(err)
	}
	if again, err := readResults(dir); err != nil || len(again) != len(want) || again[ran[0]] != got[ran[0]] {
		t.Errorf("read again: %v, %v", again, err)
	}
	if err := os.WriteFile(filepath.Join(dir, resultsFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readResults(dir); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a broken file: %v", err)
	}
}

// TestReport: each test is in one part, and an image that cannot be built is told from a test that failed.
func TestReport(t *testing.T) {
	r := report{all: 8, selected: ran, results: resultsOf(t), missing: []string{"r.io/c/perl:5.26"}}
	text := r.text()
	for _, line := range []string{
		"4 of 7 selected (Kubernetes v1.34.2 has 8): 1 passed, 1 failed, 1 need an image that cannot be built, 1 skipped themselves, 3 not run",
		"failed: [a] fails [Conformance]\n      no answer",
		"image missing: [a] waits [Conformance]\n      r.io/c/perl:5.26",
		"skipped itself: [a] steps back [Conformance]\n      only on Windows",
		"not run: [a] is stopped [Conformance]",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if err := r.verdict(); err == nil {
		t.Error("a failed test is no error")
	}
	good := report{selected: ran[4:6], results: resultsOf(t)}
	if err := good.verdict(); err != nil {
		t.Error(err)
	}
	built := report{selected: []string{"[a] waits [Conformance]"}, results: resultsOf(t)}
	if err := built.verdict(); err == nil {
		t.Error("a test fails whose image was built, and that is no error")
	}
}

// TestCauses: a failure with a known cause is named with it and fails nothing, until the test passes.
func TestCauses(t *testing.T) {
	text := "'[a] fails [Conformance]': the node has no clock.\n'[a] one passes [Conformance]': nobody knows.\n"
	known, err := readCauses([]byte(text), ran)
	if err != nil {
		t.Fatal(err)
	}
	r := report{selected: ran[:1], results: resultsOf(t), causes: known}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(r.text(), "no answer Cause: the node has no clock.") {
		t.Error(r.text())
	}
	r.selected = []string{"[a] one passes [Conformance]"}
	if err := r.verdict(); err == nil || !strings.Contains(err.Error(), "take it out") {
		t.Errorf("a test that is known to fail passes: %v", err)
	}
	for _, bad := range []string{"'[c] unheard of': so.\n", "'[a] fails [Conformance]': ''\n", "- list\n"} {
		if _, err := readCauses([]byte(bad), ran); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := readCauses(nil, ran); err != nil {
		t.Error(err)
	}
}

func TestReportInPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	r := report{all: 7, selected: ran, results: resultsOf(t), missing: []string{"r.io/c/perl:5.26"}}
	if err := os.WriteFile(page, []byte("# Page\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.replaceIn(page); err == nil {
		t.Error("a page without marks is written")
	}
	if err := os.WriteFile(page, []byte("# Page\n\n"+beginMark+"\nold\n"+endMark+"\n\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.replaceIn(page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# Page\n\n" + beginMark, "| passed | 1 |", "### Failed\n\n- `` [a] fails [Conformance] ``: no answer", "- `r.io/c/perl:5.26`\n\n" + endMark + "\n\nafter\n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old part is still there")
	}
}

// TestSplit: what no image is made for is missing, and so is what lies in another registry, whatever its name.
func TestSplit(t *testing.T) {
	specs := map[string]images.Spec{"agnhost": {Cmd: []string{"pause"}}}
	buildable, missing := split([]string{"gcr.io/x/agnhost:2.6", "r.io/c/agnhost:2.56", "r.io/c/perl:5.26"}, "r.io/c", specs)
	if len(buildable) != 1 || buildable[0].Name != "agnhost" || buildable[0].Version != "2.56" || buildable[0].Cmd[0] != "pause" {
		t.Errorf("buildable: %+v", buildable)
	}
	if !slices.Equal(missing, []string{"gcr.io/x/agnhost:2.6", "r.io/c/perl:5.26"}) {
		t.Errorf("missing: %v", missing)
	}
}

// TestTrusted: what tests reach outside of the cluster may have an authority of its own.
func TestTrusted(t *testing.T) {
	dir := t.TempDir()
	if _, err := trusted(dir, ""); err == nil {
		t.Error("a package without certificates is trusted")
	}
	if err := os.MkdirAll(filepath.Join(dir, "mozilla"), 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "own.pem")
	for file, text := range map[string]string{filepath.Join(dir, "mozilla", "a.crt"): "A", filepath.Join(dir, "mozilla", "b.crt"): "B\n\n", own: "own\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := trusted(dir, own); err != nil || got != "A\nB\nown\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := trusted(dir, own+"s"); err == nil {
		t.Error("a file that is not there is trusted")
	}
}

func TestSelection(t *testing.T) {
	all, err := parseTests([]byte("- codename: '[a] one\n    two [Conformance]'\n- codename: '[a] alone [Serial] [Conformance]'\n"))
	if err != nil || !slices.Equal(all, []string{"[a] alone [Serial] [Conformance]", "[a] one two [Conformance]"}) {
		t.Fatalf("%q, %v", all, err)
	}
	if !serial(all[0]) || serial(all[1]) {
		t.Error("serial tests are those that say so")
	}
	if got, err := (config{only: "one two"}).selection(all); err != nil || !slices.Equal(got, all[1:]) {
		t.Errorf("only: %v, %v", got, err)
	}
	if _, err := (config{only: "none"}).selection(all); err == nil {
		t.Error("a selection of nothing is run")
	}
	if _, err := (config{short: true}).selection(all); err == nil || !strings.Contains(err.Error(), "has no test of") {
		t.Errorf("a short selection that the suite does not have: %v", err)
	}
	if n := len(strings.Split(strings.TrimSpace(short), "\n")); n != 20 {
		t.Errorf("the short selection has %d tests", n)
	}
	expression := regexp.MustCompile(focus(all))
	if !expression.MatchString("suite "+all[0]) || expression.MatchString("[a] one") {
		t.Errorf("focus %s", expression)
	}
}

// TestCheck: nothing is built for what cannot be run.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := config{kubeconfig: file, registry: "r.io/c", procs: 1, out: filepath.Join(dir, "out")}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for flag, change := range map[string]func(*config){
		"-kubeconfig": func(c *config) { c.kubeconfig += "s" },
		"-to":         func(c *config) { c.registry = "" },
		"-procs":      func(c *config) { c.procs = 0 },
	} {
		bad := good
		change(&bad)
		if err := bad.check(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
