// Command phase1 measures the administrator's phase against an embedded Azure in which every call takes 100 ms longer: our command, a
// serial client that makes the same calls one at a time, and the field's bash with az, interleaved in one run. hack/bench.sh calls it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

// zone is made by the phase.
const zone = "clusters." + parentZone

// What the figures must reach.
const (
	mostOfPath    = 1.3
	leastToSerial = 4.0
	leastToAz     = 12.0
	mostIdle      = 2 * time.Second
	mostCheck     = time.Millisecond       // of a request and its answer, by their schema
	mostStart     = 500 * time.Millisecond // until the embedded Azure answers
	mostResident  = 60                     // MiB of the embedded Azure, before anybody asks it
)

func main() {
	rounds := flag.Int("rounds", 5, "how often our side is measured")
	program := flag.String("hypershift", "bin/hypershift", "the program")
	withAz := flag.Bool("az", true, "measure the bash with az as well")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *program, *rounds, *withAz); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// side is one way to do the phase.
type side struct {
	took  []time.Duration
	calls int
}

func (s *side) add(d time.Duration, calls int) { s.took, s.calls = append(s.took, d), calls }

func (s *side) median() time.Duration {
	sorted := slices.Clone(s.took)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

func (s *side) String() string { return fmt.Sprintf("%.2f s, %d calls", s.median().Seconds(), s.calls) }

type sides struct{ ours, idle, late, apart, serial, az side }

func run(ctx context.Context, program string, rounds int, withAz bool) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("az"); withAz && err != nil {
		return fmt.Errorf("%w; install the Azure CLI (apt-get install azure-cli) or leave that side out with -az=false", err)
	}
	key, err := newSigner()
	if err != nil {
		return err
	}
	b := &bench{program: program, key: key}
	var strict strictness
	if err := strict.measure(ctx, program, rounds); err != nil {
		return err
	}
	var s sides
	for round := range rounds {
		steps := []func(context.Context, *sides) error{b.ours, b.serial}
		if round == 0 {
			steps = append(steps, b.apart, b.realistic)
		}
		if round == 0 && withAz {
			steps = append(steps, b.az)
		}
		for _, step := range steps {
			if err := step(ctx, &s); err != nil {
				return err
			}
		}
		fmt.Printf("round: one command %.2fs, run again %.2fs, serial client %.2fs\n", s.ours.took[round].Seconds(), s.idle.took[round].Seconds(), s.serial.took[round].Seconds())
	}
	return errors.Join(s.report(withAz), strict.report())
}

func (s *sides) report(withAz bool) error {
	printPath(os.Stdout)
	name, chain := criticalPath()
	ours, path := s.ours.median(), least(chain)
	var errs []error
	row := func(what string, s *side, value, bar float64, atLeast bool) {
		errs = append(errs, hold(what, s, value, bar, atLeast))
	}
	row("phase 1 in one command / its critical path ("+name+", "+path.String()+")", &s.ours, ours.Seconds()/path.Seconds(), mostOfPath, false)
	fmt.Printf("%-62s %-20s %6.2f\n", "  … against the path without the discovery ("+least(chain[1:]).String()+")", "", ours.Seconds()/least(chain[1:]).Seconds())
	row("serial client, same calls / one command", &s.serial, s.serial.median().Seconds()/ours.Seconds(), leastToSerial, true)
	if withAz {
		row("bash with az / one command", &s.az, s.az.median().Seconds()/ours.Seconds(), leastToAz, true)
	}
	row("nothing to do, reads only, in seconds", &s.idle, s.idle.median().Seconds(), mostIdle.Seconds(), false)
	fmt.Printf("%-62s %s\n", "the four separate commands, one after the other", &s.apart)
	fmt.Printf("%-62s %s\n", "one command where what is made shows late (realistic profile)", &s.late)
	return errors.Join(errs...)
}

// hold prints a figure beside its bar; the error is for one that misses it.
func hold(what string, from fmt.Stringer, value, bar float64, atLeast bool) error {
	missed := cmp.Compare(value, bar) == map[bool]int{true: -1, false: 1}[atLeast]
	fmt.Printf("%-62s %-20s %6.2f (bar %.1f, %s)\n", what, from, value, bar, map[bool]string{true: "NOT reached", false: "reached"}[missed])
	if missed {
		return fmt.Errorf("%s: %.2f, the bar is %.2f", what, value, bar)
	}
	return nil
}
