package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folder is a module's, with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const isc = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the
above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES OF
MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY
DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION,
ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`

const wtfpl = `DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE
TERMS AND CONDITIONS FOR COPYING, DISTRIBUTION AND MODIFICATION

0. You just DO WHAT THE FUCK YOU WANT TO.
`

// A licence that is refused, or that nobody can tell, is an error that names the module; texts about documents are no matter.
func TestList(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	good := []module{
		{Path: "example.com/a", Dir: folder(t, map[string]string{"LICENSE": string(apache), "LICENSE.docs": wtfpl, "main.go": "package a"})},
		{Path: "example.com/b", Dir: folder(t, map[string]string{"COPYING": isc, "licence-apache.txt": string(apache)})},
	}
	text, err := list(good)
	if err != nil || !strings.Contains(text, "| `example.com/a` | Apache-2.0 |\n| `example.com/b` | Apache-2.0, ISC |\n") {
		t.Errorf("%v\n%s", err, text)
	}
	bad := []module{
		{Path: "example.com/refused", Dir: folder(t, map[string]string{"LICENSE": wtfpl})},
		{Path: "example.com/silent", Dir: folder(t, map[string]string{"README": isc})},
		{Path: "example.com/own", Dir: folder(t, map[string]string{"LICENSE": "You may use it on Tuesdays. " + strings.Repeat("Not on other days. ", 50)})},
		{Path: "example.com/away", Dir: filepath.Join(t.TempDir(), "absent")},
	}
	_, err = list(slices.Concat(good, bad))
	for _, cue := range []string{"example.com/refused: licence WTFPL is not one of", "example.com/silent: no file says", "example.com/own: no file says", "example.com/away: its files are not there"} {
		if err == nil || !strings.Contains(err.Error(), cue) {
			t.Errorf("error %v, want one with %q", err, cue)
		}
	}
}
