package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/pace"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// Up starts the sandbox, or what of it does not run yet.
//
//  1. Check everything that can be checked before anything is changed.
//  2. Build what is missing.
//  3. Write configuration, prepare the host, start the processes.
//  4. Fill Azure, the registry and the cluster, while they come up.
//
// If it fails, what it started is stopped again; data stay.
func Up(ctx context.Context, o Options) error {
	o.Cache = cmp.Or(o.Cache, build.DefaultCache())
	c, err := config(o.Dir)
	if err != nil {
		return err
	}
	if !o.AzureOnly {
		c.Bin = build.Host().Dir(o.Cache)
	}
	before, err := supervise.ReadState(c.Dir)
	if err != nil {
		return err
	}
	if err := prerequisites(c, o.AzureOnly, before); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if !o.AzureOnly {
		if err := errors.Join(chooseManagement(&c, o.Management), chooseNodes(&c, o.ManagementNodes)); err != nil {
			return err
		}
	}
	unlock, err := lockDir(c.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	plan, err := runningPlan(ctx, c)
	if err != nil {
		return err
	}
	p := newProgress(o.Step)
	if c.AzureProfile, err = chooseProfile(plan, o.AzureProfile); err != nil {
		return err
	}
	if o.AzureOnly && !slices.Contains([]string{"", modeAzure}, plan.Mode) {
		return supervise.Ensure(ctx, c.Dir, supervisorCommand(c), c.Build()) // more than that runs already
	}
	err = up(ctx, c, o, before, p)
	if err == nil || plan.Mode == modeFull {
		return err
	}
	return errors.Join(err, revert(c, plan, p))
}

// chooseProfile settles how long what Azure has accepted takes to show: what is asked for, else what runs, else the realistic one.
func chooseProfile(plan supervise.Plan, asked string) (string, error) {
	if asked != "" {
		_, err := pace.New(asked, 0, 0)
		return asked, err
	}
	for _, part := range plan.Parts {
		if at := slices.Index(part.Argv, cluster.ProfileFlag); part.Name == cluster.Azure && at >= 0 {
			return part.Argv[at+1], nil
		}
	}
	return pace.Realistic, nil
}

// runningPlan is what runs now. The plan of a sandbox that was not stopped but
// ended, as by a reboot, is only what ran once.
func runningPlan(ctx context.Context, c cluster.Config) (supervise.Plan, error) {
	_, err := supervise.Query(ctx, c.Dir)
	if errors.Is(err, supervise.ErrDown) {
		return supervise.Plan{}, nil
	}
	if err != nil {
		return supervise.Plan{}, err
	}
	return supervise.ReadPlan(c.Dir)
}

func up(ctx context.Context, c cluster.Config, o Options, before supervise.State, p *progress) error {
	err := p.run("certificates and credentials", func() error {
		return errors.Join(pki.Ensure(c.Dir), cloud.EnsureCredentials(c.Dir))
	})
	if err != nil {
		return err
	}
	if o.AzureOnly {
		return upAzure(ctx, c, processes(before)[cluster.Azure], p)
	}
	return upCluster(ctx, c, o, p)
}

// revert stops what a failed Up has started and leaves what ran before.
func revert(c cluster.Config, plan supervise.Plan, p *progress) error {
	// The reason to stop may be that the caller's context has ended.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if plan.Mode == "" {
		return stopAll(ctx, c, false, p)
	}
	err := p.run("stop processes", func() error {
		if err := supervise.WritePlan(c.Dir, plan); err != nil {
			return err
		}
		return supervise.Reload(ctx, c.Dir)
	})
	if err != nil && !errors.Is(err, supervise.ErrDown) {
		return err
	}
	return errors.Join(haltMachines(ctx, c), c.Teardown(ctx), c.TakeEdge(ctx))
}

func supervisorCommand(c cluster.Config) []string {
	return []string{c.Self, "sandbox", "run", "supervisor", "--dir", c.Dir}
}

// start makes the supervisor follow a plan.
func start(ctx context.Context, c cluster.Config, mode string, parts []supervise.Part) error {
	keeper := []string{c.Self, "sandbox", "run", supervise.KeeperName, "--dir", c.Dir}
	if err := supervise.WritePlan(c.Dir, supervise.Plan{Mode: mode, Parts: parts, Watcher: keeper}); err != nil {
		return err
	}
	return supervise.Ensure(ctx, c.Dir, supervisorCommand(c), c.Build())
}

// upAzure starts the embedded Azure alone. With root it takes the edge too, so
// that a management cluster can join it later without a restart. running is
// the number of its process, if it runs already.
func upAzure(ctx context.Context, c cluster.Config, running int, p *progress) error {
	edge := os.Geteuid() == 0 && cluster.EdgeIsFree(running) && c.TakeEdge(ctx) == nil
	return p.run("embedded Azure", func() error {
		if err := start(ctx, c, modeAzure, []supervise.Part{c.AzurePart(edge)}); err != nil {
			return err
		}
		if err := supervise.WaitReady(ctx, c.Dir, []string{cluster.Azure}, nil); err != nil {
			return err
		}
		if err := cloud.Bootstrap(ctx, c.Dir); err != nil {
			return err
		}
		return writeEnv(c, nil)
	})
}

// upCluster starts everything.
func upCluster(ctx context.Context, c cluster.Config, o Options, p *progress) error {
	var err error
	if c.Debian, c.System, err = buildParts(ctx, o.Cache, p); err != nil {
		return err
	}
	if err := tellChanges(c, o); err != nil {
		return err
	}
	err = p.run("configuration and network", func() error {
		if err := c.Prepare(); err != nil {
			return err
		}
		return c.PrepareHost(ctx)
	})
	if err != nil {
		return err
	}
	var since time.Time // zero if the cluster runs already
	if !clusterRuns(ctx, c) {
		since = time.Now()
	}
	if err := start(ctx, c, modeFull, c.Parts()); err != nil {
		return err
	}
	if err := linkTools(c); err != nil {
		return err
	}
	var images published
	g, filling := errgroup.WithContext(ctx)
	g.Go(func() error { return fillAzure(filling, c, p) })
	g.Go(func() error { return fillCluster(filling, c, since, p) })
	g.Go(func() (err error) {
		images, err = fillRegistry(filling, c, o, p)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if err := cloud.PublishIssuer(ctx, c.Dir, c.Kubeconfig()); err != nil {
		return err
	}
	return writeEnv(c, &images)
}

// tellChanges says what happens to the machine before it does.
func tellChanges(c cluster.Config, o Options) error {
	if o.Changes == nil {
		return nil
	}
	changes, err := c.Changes()
	if err == nil {
		o.Changes(changes)
	}
	return err
}

// buildParts has everything built and installed that the management cluster
// runs, and returns the directories of Debian's programs and of the packages
// of virtual machines.
func buildParts(ctx context.Context, cache string, p *progress) (debian, system string, err error) {
	err = p.run("parts", func() error {
		report := p.building("parts")
		if err := build.EnsurePackages(ctx, report); err != nil {
			return err
		}
		if _, err := build.Host().Build(ctx, cache, cluster.Programs(), report); err != nil {
			return err
		}
		if debian, err = build.DebianTools(ctx, cache, report); err != nil {
			return err
		}
		system, err = build.MachineSystem(ctx, cache, report)
		return err
	})
	return debian, system, err
}

// building turns the events of a build into progress of a step.
func (p *progress) building(step string) func(build.Event) {
	return func(e build.Event) {
		if e.State == build.Cached || e.State == build.Done && e.Program == "" {
			return
		}
		detail := e.Program + " " + e.State
		if e.Total > 0 {
			detail += fmt.Sprintf(" (%d of %d packages)", e.Done, e.Total)
		}
		if e.Detail != "" {
			detail += ": " + e.Detail
		}
		p.tell(Step{Name: step, Detail: detail, Elapsed: e.Elapsed})
	}
}

func fillAzure(ctx context.Context, c cluster.Config, p *progress) error {
	return p.run("embedded Azure", func() error {
		if err := supervise.WaitReady(ctx, c.Dir, []string{cluster.Azure}, nil); err != nil {
			return err
		}
		return cloud.BootstrapCluster(ctx, c.Dir, !c.Plain)
	})
}

// fillCluster brings up the management cluster with its system pods.
func fillCluster(ctx context.Context, c cluster.Config, since time.Time, p *progress) error {
	err := p.run("management API server", func() error {
		return supervise.WaitReady(ctx, c.Dir, []string{cluster.Containerd, cluster.Registry, cluster.APIServer}, nil)
	})
	if err != nil {
		return err
	}
	return p.run("management cluster", func() error {
		if err := cluster.ImportPause(ctx, c); err != nil {
			return err
		}
		images, err := cluster.PushSystemImages(ctx, c)
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, images); err != nil {
			return err
		}
		if err := c.PowerNodes(ctx); err != nil {
			return err
		}
		if err := c.WaitReady(ctx, since); err != nil {
			return err
		}
		return supervise.WaitReady(ctx, c.Dir, partNames(c), nil)
	})
}

// clusterRuns tells whether pods may have been running before.
func clusterRuns(ctx context.Context, c cluster.Config) bool {
	state, err := supervise.Query(ctx, c.Dir)
	return err == nil && state.Mode == modeFull && state.Parts[cluster.Kubelet].State == supervise.Ready
}

func partNames(c cluster.Config) []string {
	var names []string
	for _, part := range c.Parts() {
		names = append(names, part.Name)
	}
	return names
}

// linkTools puts kubectl, oc and etcdctl where "sandbox env" adds them to PATH.
func linkTools(c cluster.Config) error {
	bin := filepath.Join(c.Dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for tool, program := range map[string]string{"kubectl": "kubectl", "oc": "kubectl", "etcdctl": "etcdctl"} {
		// The program tells what it is by its name, and does not know oc.
		script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", filepath.Join(c.Bin, program))
		if err := os.WriteFile(filepath.Join(bin, tool), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// BuildParts builds everything ahead of time.
func BuildParts(ctx context.Context, cache string, step func(Step)) error {
	if cache == "" {
		cache = build.DefaultCache()
	}
	p := newProgress(step)
	if _, _, err := buildParts(ctx, cache, p); err != nil {
		return err
	}
	return buildRelease(ctx, cache, p)
}
