package build

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
)

// tail is the end of a command's output.
type tail []string

const tailLines = 15

// lineWriter cuts what is written to it into lines.
type lineWriter struct {
	line    func(string)
	pending []byte
	tail    tail
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	for {
		i := bytes.IndexByte(w.pending, '\n')
		if i < 0 {
			return len(p), nil
		}
		w.emit(string(w.pending[:i]))
		w.pending = w.pending[i+1:]
	}
}

func (w *lineWriter) flush() {
	if len(w.pending) > 0 {
		w.emit(string(w.pending))
		w.pending = nil
	}
}

func (w *lineWriter) emit(line string) {
	line = strings.TrimRight(line, "\r")
	if !isPackage(line) && !strings.HasPrefix(line, "go: downloading ") {
		if len(w.tail) == tailLines {
			w.tail = w.tail[1:]
		}
		w.tail = append(w.tail, line)
	}
	if w.line != nil {
		w.line(line)
	}
}

var packageLine = regexp.MustCompile(`^[\w.\-~+/]+$`)

// isPackage tells a package name, as go build -v prints it, from a message.
func isPackage(line string) bool { return packageLine.MatchString(line) }

// causes are the failures that a user can do something about, by what the go
// command prints for them.
var causes = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`no space left on device|disk quota exceeded`),
		"the disk is full: free some space (about 8 GB are needed for everything) and run again; what is compiled is kept"},
	{regexp.MustCompile(`requires go >= |go\.mod requires go`),
		"the installed Go is too old: install Go 1.25 or later (go.dev/dl) and run again"},
	{regexp.MustCompile(`SECURITY ERROR|checksum mismatch`),
		"a downloaded module differs from the one that is pinned: the download was changed on its way, or the module cache is damaged (go clean -modcache)"},
	{regexp.MustCompile(`dial tcp|no such host|connection refused|connection reset|i/o timeout|TLS handshake|proxyconnect|` +
		`network is unreachable|server misbehaving|x509: |module lookup disabled|unrecognized import path|unexpected EOF|(?:[45]\d\d) [A-Z][a-z]+( |$)`),
		"the Go module proxy cannot be reached or refused a module: check the network, HTTPS_PROXY and GOPROXY (go env GOPROXY), then run again; modules that are downloaded already are kept"},
}

// Error is a failed build.
type Error struct {
	Part   string // program, or programs, that could not be built
	Module string
	Cause  string // what to do about it, "" if that is not known
	Output string // last lines of the go command
	Err    error
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "part %s (module %s) could not be built: ", e.Part, e.Module)
	if e.Cause != "" {
		s.WriteString(e.Cause)
	} else {
		s.WriteString(e.Err.Error())
	}
	if e.Output != "" {
		s.WriteString("\n  " + strings.ReplaceAll(e.Output, "\n", "\n  "))
	}
	return s.String()
}

// explain makes an Error out of the output of the go command.
func explain(ctx context.Context, module, part string, output tail, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &Error{Part: part, Module: module, Output: strings.Join(output, "\n"), Err: err}
	for _, c := range causes {
		if c.pattern.MatchString(e.Output) {
			e.Cause = c.what
			break
		}
	}
	return e
}
