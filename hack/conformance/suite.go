package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// suite is the program that has the tests.
type suite struct {
	program      string
	repositories string // file that says where the images are
	registry     string
}

// listed are the keys of the registries whose images can be built; the suite takes the others from where Kubernetes has them.
var listed = []string{"promoterE2eRegistry", "gcRegistry", "gcEtcdRegistry"}

// repositories writes the file that tells the suite where its images are, and returns its path.
func repositories(out, registry string) (string, error) {
	places := map[string]string{}
	for _, key := range listed {
		places[key] = registry
	}
	text, err := yaml.Marshal(places)
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join(out, "repositories.yaml"))
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o644)
}

func (s suite) ask(ctx context.Context, question string) ([]byte, error) {
	command := exec.CommandContext(ctx, s.program, question)
	command.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+s.repositories)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(s.program), question, err, said.String())
	}
	return out, nil
}

// images are the references of all images that tests of the suite name, [Conformance] or not.
func (s suite) images(ctx context.Context) ([]string, error) {
	out, err := s.ask(ctx, "-list-images")
	if err != nil {
		return nil, err
	}
	references := strings.Fields(string(out))
	slices.Sort(references)
	return slices.Compact(references), nil
}

// conformance are the names of the tests that Kubernetes calls [Conformance], sorted.
func (s suite) conformance(ctx context.Context) ([]string, error) {
	out, err := s.ask(ctx, "-list-conformance-tests")
	if err != nil {
		return nil, err
	}
	return parseTests(out)
}

func parseTests(list []byte) ([]string, error) {
	var tests []struct{ Codename string }
	if err := yaml.Unmarshal(list, &tests); err != nil {
		return nil, fmt.Errorf("the suite's list of conformance tests: %w", err)
	}
	var names []string
	for _, test := range tests {
		names = append(names, test.Codename)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// serial tells a test that disturbs others.
func serial(name string) bool { return strings.Contains(name, "[Serial]") }

// run runs the tests, first those that can run together, and puts what came of each into the results. A failed test is no error.
func (s suite) run(ctx context.Context, c config, ginkgo string, names []string, into results) error {
	deadline := time.Now().Add(c.limit)
	together := slices.DeleteFunc(slices.Clone(names), serial)
	alone := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !serial(name) })
	for _, part := range []struct {
		name  string
		tests []string
		procs int
	}{{"together", together, c.procs}, {"alone", alone, 1}} {
		left := time.Until(deadline).Round(time.Second)
		if len(part.tests) == 0 || left <= 0 || ctx.Err() != nil {
			continue
		}
		fmt.Printf("  %d tests, %d at a time, at most %s; log: %s\n", len(part.tests), min(part.procs, len(part.tests)), left, filepath.Join(c.out, part.name+".log"))
		report := filepath.Join(c.out, part.name+".json")
		if err := os.RemoveAll(report); err != nil {
			return err
		}
		if err := s.ginkgo(ctx, c, ginkgo, part.name, part.tests, part.procs, left); err != nil {
			return err
		}
		if err := into.add(report, part.tests); err != nil {
			return fmt.Errorf("the suite left no report, see %s: %w", filepath.Join(c.out, part.name+".log"), err)
		}
	}
	return ctx.Err()
}

// ginkgo runs the suite with what its project runs it with.
func (s suite) ginkgo(ctx context.Context, c config, ginkgo, name string, tests []string, procs int, limit time.Duration) error {
	log, err := os.Create(filepath.Join(c.out, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.CommandContext(ctx, ginkgo, "run", fmt.Sprintf("--procs=%d", min(procs, len(tests))), "--timeout="+limit.String(),
		"--grace-period=20s", "--no-color", "--keep-going", "--silence-skips", "--output-dir="+c.out, "--json-report="+name+".json",
		"--junit-report="+name+".xml", "--focus="+focus(tests), s.program, "--",
		"--kubeconfig="+c.kubeconfig, "--kubectl-path="+c.kubectl, "--provider=skeleton", "--allowed-not-ready-nodes=0", "--minStartupPods=0")
	command.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+s.repositories)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) } // it writes its report then
	command.WaitDelay = time.Minute
	err = command.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) { // tests failed, or time was over: the report says which
		return nil
	}
	return err
}

// focus is the expression that selects tests by name.
func focus(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}
