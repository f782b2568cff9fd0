package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// replaceLimit is how long a killed thing may take until another one runs in its place.
const replaceLimit = 2 * time.Minute

// crash is the script command: it ends what is named with SIGKILL and returns when another one runs in its place.
//
//	crash pods NAMESPACE SELECTOR   every container of these pods, as the kernel would
//	crash kubelet                   that of one worker
//	crash part NAME                 a process of the sandbox; "supervisor" is one
func crash(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: crash pods NAMESPACE SELECTOR | crash kubelet | crash part NAME")
	}
	began := time.Now()
	var replaced func() bool
	switch args[0] {
	case "pods":
		replaced = killPods(ts, args[1], args[2])
	case "kubelet":
		replaced = killKubelet(ts)
	case "part":
		replaced = killPart(ts, args[1])
	default:
		ts.Fatalf("crash knows no %q", args[0])
	}
	for !replaced() {
		if time.Since(began) > replaceLimit {
			ts.Fatalf("crash %s: nothing runs in its place after %s", strings.Join(args, " "), replaceLimit)
		}
		time.Sleep(200 * time.Millisecond)
	}
	ts.Logf("crash %s: replaced after %s", strings.Join(args, " "), time.Since(began).Round(100*time.Millisecond))
}

func killPods(ts *testscript.TestScript, namespace, selector string) (replaced func() bool) {
	list := func(path string) ([]string, error) {
		out, err := run(ts, "kubectl", "-n", namespace, "get", "pods", "-l", selector, "-o", "jsonpath={range .items[*]}{"+path+`}{"\n"}{end}`)
		return strings.Fields(out), err
	}
	uids, err := list(".metadata.uid")
	ts.Check(err)
	before, err := list(".status.containerStatuses[*].containerID")
	ts.Check(err)
	var ended int
	for _, pid := range processes(ts) {
		group, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
		if err != nil || command(pid) == "pause" || !slices.ContainsFunc(uids, func(uid string) bool { return strings.Contains(string(group), uid) }) {
			continue // processes vanish while they are listed
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			ended++
		}
	}
	if ended == 0 || len(before) == 0 {
		ts.Fatalf("no process of pods %s in %s was found", selector, namespace)
	}
	return func() bool {
		now, err := list(".status.containerStatuses[*].containerID")
		return err == nil && len(now) > 0 && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) })
	}
}

// killKubelet takes a worker's: the management node's own has no cloud provider.
func killKubelet(ts *testscript.TestScript) (replaced func() bool) {
	workers := func() []int {
		return slices.DeleteFunc(processes(ts), func(pid int) bool {
			arguments, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
			return err != nil || command(pid) != "kubelet" || !strings.Contains(string(arguments), "--cloud-provider=external")
		})
	}
	before := workers()
	if len(before) == 0 {
		ts.Fatalf("no worker's kubelet runs")
	}
	ts.Check(syscall.Kill(before[0], syscall.SIGKILL))
	return func() bool {
		now := workers()
		return !slices.Contains(now, before[0]) && len(now) == len(before)
	}
}

func killPart(ts *testscript.TestScript, name string) (replaced func() bool) {
	before := sandboxParts(ts)[name]
	if before <= 0 {
		ts.Fatalf("the sandbox has no running part %q", name)
	}
	ts.Check(syscall.Kill(before, syscall.SIGKILL))
	return func() bool {
		now := sandboxParts(ts)[name]
		return now > 0 && now != before && syscall.Kill(now, 0) == nil
	}
}

// parts is the script command: parts NAME... fails unless exactly these are the processes of the sandbox.
func parts(ts *testscript.TestScript, neg bool, args []string) {
	slices.Sort(args)
	if have := slices.Sorted(maps.Keys(sandboxParts(ts))); neg || !slices.Equal(have, args) {
		ts.Fatalf("the sandbox's processes are %s", strings.Join(have, " "))
	}
}

// sandboxParts are the process ids of the sandbox by their names; empty while the supervisor does not answer.
func sandboxParts(ts *testscript.TestScript) map[string]int {
	out, err := output(ts, "hypershift", "sandbox", "status", "-o", "json")
	if err != nil {
		return nil
	}
	var status struct {
		Supervisor int
		Parts      map[string]struct{ PID int }
	}
	if json.Unmarshal([]byte(out), &status) != nil {
		return nil
	}
	pids := map[string]int{"supervisor": status.Supervisor}
	for name, part := range status.Parts {
		pids[name] = part.PID
	}
	return pids
}

func processes(ts *testscript.TestScript) []int {
	entries, err := os.ReadDir("/proc")
	ts.Check(err)
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func command(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}
