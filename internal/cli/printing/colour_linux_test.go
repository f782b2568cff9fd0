package printing

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what a program writes to, and what a person sees of it.
func terminal(t *testing.T) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program, person
}

// TestColours: they are for a person at a terminal who has not refused them, and for nobody else.
func TestColours(t *testing.T) {
	pipe := func(t *testing.T) (program, person *os.File) {
		person, program, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = person.Close(), program.Close() })
		return program, person
	}
	for _, tc := range []struct {
		name, noColour, term string
		open                 func(*testing.T) (program, person *os.File)
		coloured             bool
	}{
		{"a terminal", "", "xterm", terminal, true},
		{"a terminal with NO_COLOR", "1", "xterm", terminal, false},
		{"a dumb terminal", "", "dumb", terminal, false},
		{"a pipe", "", "xterm", pipe, false},
		{"a pipe with NO_COLOR", "1", "xterm", pipe, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", tc.noColour)
			t.Setenv("TERM", tc.term)
			program, person := tc.open(t)
			table := Table{Head: []string{"NAME"}, Rows: [][]Cell{{{Text: "broken", Tone: Bad}}}}
			if err := table.Print(program, PainterFor(program)); err != nil {
				t.Fatal(err)
			}
			seen := make([]byte, 1024)
			n, err := person.Read(seen)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(seen[:n]); !strings.Contains(got, "broken") || strings.Contains(got, "\x1b") != tc.coloured {
				t.Errorf("%q is seen", got)
			}
		})
	}
}
