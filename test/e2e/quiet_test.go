package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// settleLimit is how long a cluster may take to come to rest.
const settleLimit = 3 * time.Minute

// restLength is how long nobody writes once a cluster has come to rest.
const restLength = time.Minute

var (
	request    = regexp.MustCompile(`^apiserver_request_total\{(.*)\} ([0-9.e+]+)$`)
	label      = regexp.MustCompile(`(\w+)="([^"]*)"`)
	writing    = []string{"PUT", "PATCH", "POST", "APPLY", "DELETE"}
	heartbeats = []string{"leases", "nodes", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"}
)

// quiet is the script command: quiet DURATION waits until nobody has written to the management cluster for that long, and sees that nobody
// does for restLength more: who writes every 20 s is between two writes now and then. Heartbeats (leases, the node's status) and questions
// that are asked by POST (token and access reviews, tokens of service accounts) are no writes.
func quiet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: quiet DURATION")
	}
	length, err := time.ParseDuration(args[0])
	ts.Check(err)
	ts.Check(rests(length, func() map[string]float64 { return writes(ts) }, time.Sleep))
}

// rests is an error unless nothing is counted in some time of that length within settleLimit, nor in restLength right after it.
func rests(length time.Duration, count func() map[string]float64, sleep func(time.Duration)) error {
	before := count()
	during := func(length time.Duration) []string {
		sleep(length)
		now := count()
		differ := difference(before, now)
		before = now
		return differ
	}
	for waited := length; ; waited += length {
		differ := during(length)
		if len(differ) == 0 {
			break
		}
		if waited > settleLimit {
			return fmt.Errorf("somebody writes at rest, after %s still in %s: %s", waited, length, strings.Join(differ, ", "))
		}
	}
	if differ := during(restLength); len(differ) > 0 {
		return fmt.Errorf("somebody writes at rest, after %s without a write: in the next %s %s", length, restLength, strings.Join(differ, ", "))
	}
	return nil
}

// writes counts the requests that change something, by verb and resource.
func writes(ts *testscript.TestScript) map[string]float64 {
	text, err := output(ts, "kubectl", "get", "--raw", "/metrics")
	ts.Check(err)
	counts := map[string]float64{}
	for line := range strings.Lines(text) {
		match := request.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(match[1], -1) {
			labels[pair[1]] = pair[2]
		}
		if !slices.Contains(writing, labels["verb"]) || slices.Contains(heartbeats, labels["resource"]) ||
			labels["resource"] == "serviceaccounts" && labels["subresource"] == "token" {
			continue
		}
		count, err := strconv.ParseFloat(match[2], 64)
		ts.Check(err)
		counts[strings.TrimSuffix(labels["verb"]+" "+labels["resource"]+"/"+labels["subresource"], "/")] += count
	}
	if len(counts) == 0 {
		ts.Fatalf("the API server counts no writes at all: its metrics have other names")
	}
	return counts
}

func difference(before, after map[string]float64) []string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(after)) {
		if more := after[what] - before[what]; more > 0 {
			all = append(all, fmt.Sprintf("%s %g", what, more))
		}
	}
	return all
}

func TestRests(t *testing.T) {
	for name, test := range map[string]struct {
		last, every time.Duration // writes until last, and then every so long, if at all
		want        string
	}{
		"silent from the start":        {},
		"settles":                      {last: 100 * time.Second},
		"settles late":                 {last: 170 * time.Second},
		"never settles":                {last: time.Hour, want: "after 3m15s still in 15s: PATCH pods 15"},
		"writes every 20 s":            {every: 20 * time.Second, want: "in the next 1m0s PATCH pods 3"},
		"writes 50 s after it settles": {last: 10 * time.Second, every: 75 * time.Second, want: "in the next 1m0s PATCH pods 1"},
	} {
		var now time.Duration
		count := func() map[string]float64 {
			writes := min(now, test.last).Seconds()
			if test.every > 0 {
				writes += float64(now / test.every)
			}
			return map[string]float64{"PATCH pods": writes}
		}
		err := rests(15*time.Second, count, func(length time.Duration) { now += length })
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
