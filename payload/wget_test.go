package payload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWget runs the script of the tools image with programs that say how they were called.
func TestWget(t *testing.T) {
	bin := t.TempDir()
	for name, text := range map[string]string{
		"busybox": `echo "$@"; case $* in *slow*) exit 143;; esac`,
		"timeout": `echo "within $1"; shift; exec "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ arguments, want string }{
		{"-qO- http://a/", "wget -qO- http://a/\n"},
		{"-T 5 -qO- http://a/", "within 5\nwget -qO- http://a/\n"},
		{"-q -T5 http://a/ -O -", "within 5\nwget -q http://a/ -O -\n"},
		{"http://a/ --timeout=5", "within 5\nwget http://a/\n"},
		{"http://slow/ -T 1", "within 1\nwget http://slow/\nwget: download timed out\nexit status 1"},
	} {
		cmd := exec.Command("sh", append([]string{"-c", wget, "wget"}, strings.Fields(tc.arguments)...)...)
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		if string(out) != tc.want {
			t.Errorf("wget %s: %q, want %q", tc.arguments, out, tc.want)
		}
	}
}
