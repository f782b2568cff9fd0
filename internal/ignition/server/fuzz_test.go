package server

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzReport: whatever a machine says of itself becomes one line that a person can look at, and no more than that.
func FuzzReport(f *testing.F) {
	for _, seed := range []string{"containerd failed: exit status 1", "a\x1b[2Jb\r\nc\u202ed", "\xff\xfe", strings.Repeat("ä", maxReport), "\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		line := readable(said)
		if len(line) > maxReport+len("...") || !utf8.ValidString(line) {
			t.Fatalf("%d bytes of %q", len(line), said)
		}
		if at := strings.IndexFunc(line, func(char rune) bool { return !unicode.IsPrint(char) }); at >= 0 {
			t.Errorf("%q at %d of %q", line[at:], at, said)
		}
		if again := readable(line); again != line {
			t.Errorf("%q is %q the second time", line, again)
		}
	})
}
