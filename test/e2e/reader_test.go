package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hypershift-on-azure/hypershift/test/e2e/guide"
)

// reader types the commands of a guide into one shell, in a directory of its own.
type reader struct {
	file      string
	commands  []guide.Command
	base      []string // the environment before demo: a reader takes the sandbox's from the guide
	shell     *exec.Cmd
	questions io.WriteCloser
	answers   *bufio.Reader
	said      transcript
}

type readerKey struct{}

// patience is how long one command of a guide may take.
const patience = 20 * time.Minute

// driver runs what it is told and answers with the status: of the command, or of a part of it that failed unseen, as in a loop.
const driver = `set -o pipefail
trap 'failed=$?' ERR
while IFS= read -r -d '' -u 3 command; do
  failed=0
  eval "$command" 3<&- 4>&-
  status=$?
  [ $status -ne 0 ] || status=$failed
  echo $status >&4
done`

// reads opens a guide: reads FILE LIST. LIST has the commands that nobody types here, with the reasons as comments.
func reads(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: reads GUIDE LIST")
	}
	r := ts.Value(readerKey{}).(*reader)
	commands, err := guide.Commands(ts.ReadFile(args[0]), guide.Complete)
	ts.Check(err)
	typed, listed, err := guide.Without(commands, ts.ReadFile(args[1]))
	ts.Check(err)
	r.file, r.commands = filepath.Base(args[0]), typed
	ts.Check(r.begin(ts))
	ts.Defer(r.end)
	ts.Logf("%s: %d commands are typed, %d are listed as not typed", r.file, len(typed), listed)
}

// types goes on to the end of a section, or through the first command in it that has the text: types SECTION [TEXT].
func types(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: types SECTION [TEXT]")
	}
	r := ts.Value(readerKey{}).(*reader)
	if len(r.commands) == 0 || r.commands[0].Section != args[0] {
		ts.Fatalf("the next command is not in section %q: %s", args[0], r.rest())
	}
	for len(r.commands) > 0 && r.commands[0].Section == args[0] {
		command := r.commands[0]
		r.commands = r.commands[1:]
		r.command(ts, command)
		if len(args) == 2 && strings.Contains(command.Text, args[1]) {
			return
		}
	}
	if len(args) == 2 {
		ts.Fatalf("section %q has no command with %q", args[0], args[1])
	}
}

// typed fails unless the guide is at its end.
func typed(ts *testscript.TestScript, _ bool, _ []string) {
	if r := ts.Value(readerKey{}).(*reader); len(r.commands) > 0 {
		ts.Fatalf("not typed: %s", r.rest())
	}
}

func (r *reader) rest() string {
	if len(r.commands) == 0 {
		return "the guide is at its end"
	}
	next := r.commands[0]
	return fmt.Sprintf("%s:%d, section %q: %s", r.file, next.Line, next.Section, next.Text)
}

func (r *reader) begin(ts *testscript.TestScript) error {
	directory := ts.MkAbs("reader")
	if err := os.Mkdir(directory, 0o755); err != nil {
		return err
	}
	questions, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, answers, err := os.Pipe()
	if err != nil {
		return err
	}
	r.shell = exec.Command("bash", "-c", driver)
	// Who reads a guide has not logged in to Azure, and stays logged in afterwards as before.
	r.shell.Dir, r.shell.Env = directory, append(r.base, "AZURE_CONFIG_DIR="+ts.MkAbs("azure"))
	r.shell.Stdout, r.shell.Stderr = &r.said, &r.said
	r.shell.ExtraFiles = []*os.File{questions, answers}
	r.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.shell.WaitDelay = time.Second
	r.questions, r.answers = in, bufio.NewReader(out)
	if err := r.shell.Start(); err != nil {
		return err
	}
	_ = questions.Close()
	_ = answers.Close()
	return nil
}

// end takes what the reader has left in the background with it.
func (r *reader) end() {
	_ = r.questions.Close()
	_ = syscall.Kill(-r.shell.Process.Pid, syscall.SIGKILL)
	_ = r.shell.Wait()
}

func (r *reader) command(ts *testscript.TestScript, c guide.Command) {
	began := time.Now()
	status, err := r.ask(c.Text)
	ts.Logf("%s:%d: $ %s\n%s[%s]", r.file, c.Line, c.Text, r.said.take(), time.Since(began).Round(100*time.Millisecond))
	ts.Check(err)
	if status != 0 {
		ts.Fatalf("%s:%d fails with %d: %s", r.file, c.Line, status, c.Text)
	}
}

func (r *reader) ask(text string) (int, error) {
	if _, err := io.WriteString(r.questions, text+"\x00"); err != nil {
		return 0, fmt.Errorf("the shell has ended: %w", err)
	}
	timer := time.AfterFunc(patience, func() { _ = syscall.Kill(-r.shell.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	line, err := r.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the shell has ended, or the command took more than %s: %w", patience, err)
	}
	return strconv.Atoi(strings.TrimSpace(line))
}

// transcript is what the commands print, those in the background too.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *transcript) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.String()
	o.text.Reset()
	return text
}
