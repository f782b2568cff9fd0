package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// settleLimit is how long a cluster may take to come to rest.
const settleLimit = 3 * time.Minute

var (
	request    = regexp.MustCompile(`^apiserver_request_total\{(.*)\} ([0-9.e+]+)$`)
	label      = regexp.MustCompile(`(\w+)="([^"]*)"`)
	writing    = []string{"PUT", "PATCH", "POST", "APPLY", "DELETE"}
	heartbeats = []string{"leases", "nodes", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"}
)

// quiet is the script command: quiet DURATION waits until nobody has written to the management cluster for that long. Heartbeats
// (leases, the node's status) and questions that are asked by POST (token and access reviews, tokens of service accounts) are no writes.
func quiet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: quiet DURATION")
	}
	length, err := time.ParseDuration(args[0])
	ts.Check(err)
	for began := time.Now(); ; {
		before := writes(ts)
		time.Sleep(length)
		differ := difference(before, writes(ts))
		if len(differ) == 0 {
			return
		}
		if time.Since(began) > settleLimit {
			ts.Fatalf("somebody writes at rest, in %s: %s", length, strings.Join(differ, ", "))
		}
	}
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
