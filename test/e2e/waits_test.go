package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// pause is between two looks at the same thing.
const pause = 500 * time.Millisecond

// eventsShown are the latest ones that a wait in vain shows.
const eventsShown = 15

// wellPod tells whether a line is of a pod whose containers are all ready, or that is done.
func wellPod(line string) bool {
	columns := strings.Fields(line)
	if len(columns) < 4 {
		return false
	}
	ready, all, _ := strings.Cut(columns[2], "/")
	return columns[3] == "Completed" || columns[3] == "Running" && ready == all
}

type attempt struct {
	length  time.Duration
	want    *regexp.Regexp
	command []string
}

func newAttempt(ts *testscript.TestScript, neg bool, args []string) attempt {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until|refused|stays DURATION REGEXP COMMAND [ARGUMENTS]")
	}
	length, err := time.ParseDuration(args[0])
	ts.Check(err)
	want, err := pattern(args[1])
	ts.Check(err)
	return attempt{length, want, args[2:]}
}

// pattern is an expression in which ^ and $ are the ends of lines, as in testscript's own commands.
func pattern(expression string) (*regexp.Regexp, error) { return regexp.Compile("(?m)" + expression) }

// try runs the command once.
func (a attempt) try(ts *testscript.TestScript) (out string, succeeds, matches bool) {
	out, err := run(ts, a.command[0], a.command[1:]...)
	return out, err == nil, a.matches(out)
}

// matches leaves out the end of the last line: ^$ matches who prints nothing, and nobody else.
func (a attempt) matches(out string) bool { return a.want.MatchString(strings.TrimSuffix(out, "\n")) }

// repeat tries until the command succeeds, or fails, as is wanted, with an output that matches.
func (a attempt) repeat(ts *testscript.TestScript, success bool) {
	for began := time.Now(); ; time.Sleep(pause) {
		out, succeeds, matches := a.try(ts)
		if succeeds == success && matches {
			ts.Logf("%s: after %s", strings.Join(a.command, " "), time.Since(began).Round(100*time.Millisecond))
			return
		}
		if time.Since(began) > a.length {
			surroundings(ts)
			ts.Fatalf("%s: no %q with success %t after %s, but with success %t\n%s", strings.Join(a.command, " "), a.want, success, a.length, succeeds, out)
		}
	}
}

// surroundings logs the pods of the management cluster that are not ready, with the latest events: what one would look at after a wait in vain.
func surroundings(ts *testscript.TestScript) {
	if ts.Getenv("KUBECONFIG") == "" {
		return
	}
	pods, _ := run(ts, "kubectl", "get", "pods", "--all-namespaces", "-o", "wide")
	for line := range strings.Lines(pods) {
		if !wellPod(line) {
			ts.Logf("%s", strings.TrimSpace(line))
		}
	}
	events, _ := run(ts, "kubectl", "get", "events", "--all-namespaces", "--field-selector", "type=Warning", "--sort-by=.lastTimestamp")
	lines := strings.Split(strings.TrimSpace(events), "\n")
	ts.Logf("%s", strings.Join(lines[max(0, len(lines)-eventsShown):], "\n"))
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	newAttempt(ts, neg, args).repeat(ts, true)
}

func refused(ts *testscript.TestScript, neg bool, args []string) {
	newAttempt(ts, neg, args).repeat(ts, false)
}

func stays(ts *testscript.TestScript, neg bool, args []string) {
	a := newAttempt(ts, neg, args)
	for began := time.Now(); time.Since(began) < a.length; time.Sleep(pause) {
		if out, succeeds, matches := a.try(ts); !succeeds || !matches {
			ts.Fatalf("%s: no %q any more after %s, but\n%s", strings.Join(a.command, " "), a.want, time.Since(began).Round(100*time.Millisecond), out)
		}
	}
}

// findingLimit is how long after its cause `hypershift explain` may take to find a case.
const findingLimit = time.Minute

// explained is the script command: explained cluster|nodepool NAME CASE... All cases together have findingLimit, from their cause, or from its first
// effect where Azure or a machine takes longer to show one.
func explained(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: explained cluster|nodepool NAME CASE...")
	}
	for began, cases := time.Now(), args[2:]; len(cases) > 0; cases = cases[1:] {
		want, err := pattern(`\[` + regexp.QuoteMeta(cases[0]) + `\]`)
		ts.Check(err)
		attempt{findingLimit - time.Since(began), want, []string{"hypershift", "explain", args[0], args[1]}}.repeat(ts, true)
	}
}

// steadyLimit is how long something may take to come to rest.
const steadyLimit = 3 * time.Minute

// steady is the script command: steady DURATION COMMAND.
func steady(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: steady DURATION COMMAND [ARGUMENTS]")
	}
	length, err := time.ParseDuration(args[0])
	ts.Check(err)
	look := func() string {
		out, err := output(ts, args[1], args[2:]...)
		if err != nil {
			return fmt.Sprintf("%s\n%s", err, out)
		}
		return out
	}
	last, since := look(), time.Now()
	for began := since; time.Since(since) < length; {
		if time.Since(began) > steadyLimit {
			ts.Fatalf("%s does not come to rest in %s: it prints\n%s", strings.Join(args[1:], " "), steadyLimit, last)
		}
		time.Sleep(pause)
		if now := look(); now != last {
			last, since = now, time.Now()
		}
	}
	_, err = fmt.Fprint(ts.Stdout(), last)
	ts.Check(err)
}

// condition is the script command: condition DURATION NAMESPACE RESOURCE TYPE REGEXP. Point matches the end of a line too.
func condition(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: condition DURATION NAMESPACE RESOURCE TYPE REGEXP")
	}
	path := fmt.Sprintf("{.status.conditions[?(@.type==%q)]", args[3])
	until(ts, false, []string{args[0], "(?s)" + args[4], "kubectl", "-n", args[1], "get", args[2], "-o",
		"jsonpath=" + path + ".status} " + path + ".reason} " + path + ".message}"})
}

// finally is the script command: finally COMMAND.
func finally(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: finally COMMAND [ARGUMENTS]")
	}
	ts.Defer(func() {
		if out, err := run(ts, args[0], args[1:]...); err != nil {
			ts.Logf("finally %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	})
}

// anew is the script command: anew DURATION SELECTOR KUBECTL.
func anew(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: anew DURATION SELECTOR KUBECTL [ARGUMENTS]")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	kubectl := func(more ...string) (string, error) {
		return run(ts, args[2], slices.Concat(args[3:], more, []string{"-l", args[1]})...)
	}
	out, err := kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.uid}")
	former := strings.Fields(out)
	if err != nil || len(former) == 0 {
		ts.Fatalf("no pod has the labels %s: %v\n%s", args[1], err, out)
	}
	if out, err = kubectl("delete", "pods", "--grace-period=1"); err != nil {
		ts.Fatalf("delete the pods %s: %v\n%s", args[1], err, out)
	}
	for began := time.Now(); ; time.Sleep(pause) {
		out, err = kubectl("get", "pods", "-o", `jsonpath={range .items[*]}{.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		if err == nil && readyOthers(out, former) == len(former) {
			return
		}
		if time.Since(began) > limit {
			ts.Fatalf("%d pods %s were deleted, and after %s there are\n%s", len(former), args[1], limit, out)
		}
	}
}

// readyOthers counts the lines "UID True" whose uid is new.
func readyOthers(lines string, former []string) (ready int) {
	for line := range strings.Lines(lines) {
		uid, status, _ := strings.Cut(strings.TrimSpace(line), " ")
		if status == "True" && !slices.Contains(former, uid) {
			ready++
		}
	}
	return ready
}

// clocked is the variable in which a script keeps when its clock began.
const clocked = "CLOCK"

// clock is the script command: clock.
func clock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: clock")
	}
	set(ts, clocked, time.Now().Format(time.RFC3339Nano))
}

// figure is the script command: figure SECONDS TEXT. A miss fails hack/bench.sh and not the script, which may run beside other work.
func figure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: figure SECONDS TEXT")
	}
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	began, err := time.Parse(time.RFC3339Nano, ts.Getenv(clocked))
	if err != nil {
		ts.Fatalf("no clock before figure: %v", err)
	}
	ts.Logf("figure: %s: %.1f s, may take %d s", args[1], time.Since(began).Seconds(), limit)
}
