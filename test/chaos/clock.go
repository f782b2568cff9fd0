package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const (
	// clockStep is how far the machine's clock goes ahead: more than a lease lasts, and less than tokens and certificates forgive.
	clockStep = 30 * time.Second
	// clockError is how exactly the clock is put back: two reads of different clocks are never of the same moment.
	clockError = time.Millisecond
	// stepFlag is how this program is told to be the process that steps the clock.
	stepFlag = "step-clock"
)

// clock steps the machine's clock ahead. A process of its own does it, and puts the clock back also when this one is killed.
func (w *world) clock(context.Context, *rand.Rand) (string, func(context.Context) error, error) {
	return steppedBy(clockStep)
}

func steppedBy(by time.Duration) (string, func(context.Context) error, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	stepper := exec.Command(self, "-"+stepFlag, by.String())
	var said bytes.Buffer
	stepper.Stderr = &said
	in, err := stepper.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := stepper.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := stepper.Start(); err != nil {
		return "", nil, fmt.Errorf("start the process that steps the clock: %w", err)
	}
	end := func(context.Context) error {
		_ = in.Close()
		if err := stepper.Wait(); err != nil {
			return fmt.Errorf("put the machine's clock back: %w: %s", err, said.String())
		}
		return nil
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", nil, errors.Join(fmt.Errorf("step the machine's clock: %w", err), end(context.Background()))
	}
	return fmt.Sprintf("%s ahead", by), end, nil
}

// stepClock steps the clock, says so with a line, and puts it back when the input ends. What it was off in the meantime is measured with the
// clock that never steps, so that nothing of the step stays, also when a time server has corrected it.
func stepClock(by time.Duration, in io.Reader, out io.Writer) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	before, err := offset()
	if err != nil {
		return err
	}
	if err := step(by); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "stepped") // nobody reads it when who asked is gone
	_, _ = io.Copy(io.Discard, in)
	now, err := offset()
	if err != nil {
		return errors.Join(err, step(-by))
	}
	if err := step(back(before, now)); err != nil {
		return err
	}
	if now, err = offset(); err == nil && (now-before).Abs() > clockError {
		return fmt.Errorf("the machine's clock is off by %s after it was put back, since something else has set it, too: set it by a time server", now-before)
	}
	return err
}

// back is the step that leads from an offset to the one before, without the error of the measurement.
func back(before, now time.Duration) time.Duration { return (before - now).Round(clockError) }
