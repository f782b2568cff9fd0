// Command conformance runs Kubernetes' own end-to-end tests against a cluster: those that Kubernetes calls [Conformance], with the suite
// built from its module and with images built from modules and Debian packages. It prints how many passed, failed and did not run, and why.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// short are the tests of --short, by name: one of each kind of thing that a hosted cluster does differently.
//
//go:embed short.txt
var short string

// known are the tests that fail and why, by name.
//
//go:embed known.yaml
var known []byte

// config is what the flags say.
type config struct {
	kubeconfig, kubectl string
	registry, authFile  string
	caFile              string
	cache, out, page    string
	only                string
	buildOnly, short    bool
	goOn                bool
	procs               int
	limit               time.Duration
}

func main() {
	var c config
	flag.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster under test, with every right there")
	flag.StringVar(&c.kubectl, "kubectl", "kubectl", "kubectl that tests call")
	flag.StringVar(&c.registry, "to", "", "registry and path that the tests' images are published in, such as myregistry.azurecr.io/conformance; nodes pull from it")
	flag.StringVar(&c.authFile, "auth-file", "", "Docker configuration file with credentials for the registry (default: that of docker login)")
	flag.StringVar(&c.caFile, "ca-file", "", "PEM certificates of authorities that vouch for the registry and for what tests reach outside of the cluster, beside the public ones")
	flag.StringVar(&c.cache, "cache", build.DefaultCache(), "where what is built is kept")
	flag.StringVar(&c.out, "out", "conformance", "folder for results: results.json, JUnit reports, logs")
	flag.StringVar(&c.page, "page", "", "Markdown page whose part between the marks is replaced with the figures and lists")
	flag.StringVar(&c.only, "only", "", "run tests whose names have this text")
	flag.BoolVar(&c.buildOnly, "build-only", false, "build the suite and what images are made of, and stop")
	flag.BoolVar(&c.short, "short", false, "run the short selection")
	flag.BoolVar(&c.goOn, "continue", false, "leave out tests that results.json in the folder has a verdict of")
	flag.IntVar(&c.procs, "procs", 6, "how many tests run at once; those called [Serial] run alone")
	flag.DurationVar(&c.limit, "limit", 4*time.Hour, "stop after this time; what did not run is listed, and -continue runs it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	if err := c.check(); err != nil {
		return err
	}
	built, err := prepare(ctx, c.cache)
	if err != nil || c.buildOnly {
		return err
	}
	s := suite{program: filepath.Join(built.Bin, "e2e.test"), registry: c.registry}
	if s.repositories, err = repositories(c.out, c.registry); err != nil {
		return err
	}
	listed, err := s.images(ctx)
	if err != nil {
		return err
	}
	missing, err := publish(ctx, c, built, listed)
	if err != nil {
		return err
	}
	all, err := s.conformance(ctx)
	if err != nil {
		return err
	}
	selected, err := c.selection(all)
	if err != nil {
		return err
	}
	causes, err := readCauses(known, all)
	if err != nil {
		return err
	}
	had, err := readResults(c.out)
	if err != nil {
		return err
	}
	wanted := selected
	if c.goOn {
		wanted = had.without(selected)
	}
	ended := s.run(ctx, c, filepath.Join(built.Bin, "ginkgo"), wanted, had)
	if err := had.write(c.out); err != nil {
		return err
	}
	report := report{all: len(all), selected: selected, results: had, missing: missing, causes: causes}
	fmt.Print(report.text())
	if c.page != "" {
		if err := report.replaceIn(c.page); err != nil {
			return err
		}
	}
	return errors.Join(ended, report.verdict())
}

// check refuses what nothing could be run with.
func (c config) check() error {
	if c.buildOnly {
		return nil
	}
	if c.kubeconfig == "" {
		return errors.New("-kubeconfig is missing: name the file that `hypershift create kubeconfig` printed")
	}
	if _, err := os.Stat(c.kubeconfig); err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	if c.registry == "" {
		return errors.New("-to is missing: name a registry and a path in it that the cluster's nodes pull from")
	}
	if c.procs < 1 {
		return fmt.Errorf("-procs is %d: give at least 1", c.procs)
	}
	return os.MkdirAll(c.out, 0o755)
}

// selection are the tests that the flags name, in the order of the suite's list.
func (c config) selection(all []string) ([]string, error) {
	selected := all
	if c.short {
		exists := map[string]bool{}
		for _, name := range all {
			exists[name] = true
		}
		selected = nil
		for name := range strings.Lines(short) {
			name = strings.TrimSpace(name)
			if !exists[name] {
				return nil, fmt.Errorf("the short selection names %q, which Kubernetes %s has no test of", name, build.KubernetesVersion)
			}
			selected = append(selected, name)
		}
	}
	var kept []string
	for _, name := range selected {
		if strings.Contains(name, c.only) {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("no test has %q in its name", c.only)
	}
	return kept, nil
}
