package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain is also the process that steps the clock.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-"+stepFlag {
		by, err := time.ParseDuration(os.Args[2])
		if err == nil {
			err = stepClock(by, os.Stdin, os.Stdout)
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestBack: the step back undoes what is measured, to the millisecond: all of the step, and nothing where a time server has undone it.
func TestBack(t *testing.T) {
	const before = 1_700_000_000*time.Second + 123*time.Microsecond
	for measured, want := range map[time.Duration]time.Duration{
		before + clockStep + 3*time.Microsecond:   -clockStep,
		before + clockStep - 400*time.Microsecond: -clockStep,
		before + 2*time.Microsecond:               0,
		before + 20*time.Second:                   -20 * time.Second,
		before - time.Second:                      time.Second,
	} {
		if got := back(before, measured); got != want {
			t.Errorf("from %s back: %s, want %s", measured-before, got, want)
		}
	}
}

// TestClockProcess steps by nothing, which needs the same right and changes no clock: the process says that it has, and ends with its input.
func TestClockProcess(t *testing.T) {
	if err := step(0); err != nil {
		t.Skip(err)
	}
	before, err := offset()
	if err != nil {
		t.Fatal(err)
	}
	hit, end, err := steppedBy(0)
	if err != nil || hit != "0s ahead" {
		t.Fatal(hit, err)
	}
	if err := end(t.Context()); err != nil {
		t.Error(err)
	}
	var said bytes.Buffer
	if err := stepClock(0, strings.NewReader(""), &said); err != nil || said.String() != "stepped\n" {
		t.Errorf("%q %v", said.String(), err)
	}
	if now, err := offset(); err != nil || (now-before).Abs() > clockError {
		t.Errorf("the clock has changed by %s: %v", now-before, err)
	}
}
