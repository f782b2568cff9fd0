package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what scripts have beside those of testscript.
//
//	demo                             makes the demo's hosted cluster unless it runs, and points the script at the sandbox
//	ha                               makes a highly available hosted cluster on three management nodes unless it runs; $GUEST is its kubeconfig
//	openshift                        makes a hosted cluster of a twin of an OpenShift payload unless it runs; $GUEST is its kubeconfig, $TWIN the payload
//	sandbox                          points the script at the sandbox, which comes up unless it runs; nothing needs to be installed in it
//	until DURATION REGEXP COMMAND    repeats the command until it succeeds and its output matches
//	refused DURATION REGEXP COMMAND  repeats the command until it fails and its output matches
//	stays DURATION REGEXP COMMAND    repeats the command; it succeeds and its output matches each time
//	steady DURATION COMMAND          repeats the command until it prints the same for that long; stdout is what it printed
//	condition DURATION NAMESPACE RESOURCE TYPE REGEXP  waits until "STATUS REASON MESSAGE" of the condition matches
//	explained cluster|nodepool NAME CASE...  hypershift explain finds all these cases of its table within a minute
//	anew DURATION SELECTOR KUBECTL   deletes the pods of the selector and waits until as many others are Ready
//	clock                            begins to measure
//	figure SECONDS TEXT              prints how long it is since clock, as a figure that may take so many seconds; hack/bench.sh reads it
//	finally COMMAND                  runs the command when the script is over, whatever came of it; the last one first
//	setenv NAME COMMAND              sets a variable to what the command prints on stdout, which may be nothing only with -empty before NAME
//	fills FILE NAME=VALUE...         replaces ${NAME} in the file
//	prober NAMESPACE                 a pod of the management cluster with a shell, nc and wget
//	guestapi, tunnelled              see guestapi_test.go
//	calls, forge                     see forge_test.go
//	crash, parts                     see crash_test.go
//	quiet DURATION                   the management cluster comes to rest, and nobody writes to it, see quiet_test.go
//	reads GUIDE LIST                 opens a guide whose commands are typed into one shell, but for those in the list
//	types SECTION [TEXT]             types the next commands: all of the section, or through the first that has the text
//	typed                            fails unless all of the guide is typed
//
// After demo a script has what `hypershift sandbox env` prints, and $DEMO (the demo's folder: issuer-url, infra.yaml,
// workload-identities.json, serviceaccount-signer.private, kubeconfig), $GUEST (that kubeconfig), $ISSUER_URL, $REPO. What `env` sets is
// seen by exec and in the script's own lines, but not by the programs that the commands above run: for them there is setenv.
func commands(repo string) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"demo":      func(ts *testscript.TestScript, _ bool, _ []string) { demo(ts, repo) },
		"ha":        func(ts *testscript.TestScript, _ bool, _ []string) { highlyAvailable(ts, repo) },
		"openshift": func(ts *testscript.TestScript, _ bool, _ []string) { openShift(ts, repo) },
		"sandbox":   func(ts *testscript.TestScript, _ bool, _ []string) { sandbox(ts, repo) },
		"until":     until,
		"refused":   refused,
		"stays":     stays,
		"steady":    steady,
		"condition": condition,
		"explained": explained,
		"anew":      anew,
		"clock":     clock,
		"figure":    figure,
		"finally":   finally,
		"setenv":    setenv,
		"fills":     fills,
		"prober":    prober,
		"guestapi":  guestapi,
		"tunnelled": tunnelled,
		"calls":     calls,
		"forge":     forge,
		"crash":     crash,
		"parts":     parts,
		"quiet":     quiet,
		"reads":     reads,
		"types":     types,
		"typed":     typed,
	}
}

// demo is quick where the demo's hosted cluster is Available with two workers.
func demo(ts *testscript.TestScript, repo string) {
	if enterSandbox(ts, repo) != nil || !demoRuns(ts) {
		// A script that failed before may have left it so.
		_, _ = run(ts, "kubectl", "-n", "clusters", "patch", "hostedcluster", "demo", "--type=merge", "-p", `{"spec":{"pausedUntil":null,"nodeSelector":null}}`)
		ts.Check(ts.Exec(filepath.Join(repo, "hack/demo.sh")))
		ts.Check(enterSandbox(ts, repo))
	}
	issuer, err := os.ReadFile(filepath.Join(ts.Getenv("DEMO"), "issuer-url"))
	ts.Check(err)
	lines := strings.Fields(string(issuer))
	set(ts, "ISSUER_URL", lines[len(lines)-1])
}

func sandbox(ts *testscript.TestScript, repo string) {
	if enterSandbox(ts, repo) != nil {
		mustRun(ts, "hypershift", "sandbox", "up", "--azure-profile", ts.Getenv("AZURE_PROFILE"))
		ts.Check(enterSandbox(ts, repo))
	}
}

func demoRuns(ts *testscript.TestScript) bool {
	out, err := run(ts, "kubectl", "-n", "clusters", "get", "hostedcluster", "demo", "-o", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	if err != nil || strings.TrimSpace(out) != "True" {
		return false
	}
	out, err = run(ts, "kubectl", "--kubeconfig", filepath.Join(ts.Getenv("DEMO"), "kubeconfig"), "get", "nodes", "--no-headers")
	return err == nil && strings.Count(out, " Ready ") >= 2
}

func enterSandbox(ts *testscript.TestScript, repo string) error {
	raw, err := exec.Command(filepath.Join(repo, "bin/hypershift"), "sandbox", "env", "-o", "json").Output()
	if err != nil {
		return err
	}
	var variables map[string]string
	if err := json.Unmarshal(raw, &variables); err != nil {
		return err
	}
	for name, value := range variables {
		set(ts, name, value)
	}
	set(ts, "PATH", filepath.Join(variables["HYPERSHIFT_SANDBOX_DIR"], "bin")+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	set(ts, "DEMO", filepath.Join(variables["HYPERSHIFT_SANDBOX_DIR"], "demo"))
	set(ts, "GUEST", filepath.Join(ts.Getenv("DEMO"), "kubeconfig"))
	return nil
}

// run runs a command with the script's variables, in its folder, and returns all that it prints.
func run(ts *testscript.TestScript, name string, args ...string) (string, error) {
	cmd, err := prepare(ts, name, args...)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustRun runs a command that the script cannot do without.
func mustRun(ts *testscript.TestScript, name string, args ...string) {
	if out, err := run(ts, name, args...); err != nil {
		ts.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// output is run for who reads the standard output alone.
func output(ts *testscript.TestScript, name string, args ...string) (string, error) {
	cmd, err := prepare(ts, name, args...)
	if err != nil {
		return "", err
	}
	out, err := cmd.Output()
	return string(out), err
}

func prepare(ts *testscript.TestScript, name string, args ...string) (*exec.Cmd, error) {
	program, err := lookPath(ts, name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	return cmd, nil
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	if strings.Contains(name, "/") {
		return ts.MkAbs(name), nil
	}
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}

// environ is every variable that Setup and demo have set: testscript does not list its own.
func environ(ts *testscript.TestScript) []string {
	var all []string
	for name := range ts.Value(namesKey{}).(map[string]bool) {
		all = append(all, name+"="+ts.Getenv(name))
	}
	return all
}

// namesKey finds the names of a script's variables.
type namesKey struct{}

func set(ts *testscript.TestScript, name, value string) {
	ts.Value(namesKey{}).(map[string]bool)[name] = true
	ts.Setenv(name, value)
}

// setenv is the script command: setenv [-empty] NAME COMMAND. A script that goes on with an empty value tests something else than it says.
func setenv(ts *testscript.TestScript, neg bool, args []string) {
	mayBeEmpty := len(args) > 0 && args[0] == "-empty"
	if mayBeEmpty {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: setenv [-empty] NAME COMMAND [ARGUMENTS]")
	}
	out, err := output(ts, args[1], args[2:]...)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		ts.Fatalf("%s: %v\n%s%s", strings.Join(args[1:], " "), err, out, failed.Stderr)
	}
	ts.Check(err)
	value, err := valueOf(out, mayBeEmpty)
	if err != nil {
		ts.Fatalf("%s of %s: %v", args[0], strings.Join(args[1:], " "), err)
	}
	set(ts, args[0], value)
}

func valueOf(out string, mayBeEmpty bool) (string, error) {
	value := strings.TrimSpace(out)
	if value == "" && !mayBeEmpty {
		return "", errors.New("the command printed nothing; setenv -empty accepts that")
	}
	return value, nil
}

func fills(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fills FILE NAME=VALUE...")
	}
	path := ts.MkAbs(args[0])
	raw, err := os.ReadFile(path)
	ts.Check(err)
	text := string(raw)
	for _, pair := range args[1:] {
		name, value, _ := strings.Cut(pair, "=")
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	ts.Check(os.WriteFile(path, []byte(text), 0o600))
}

const proberPod = `apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Secret
metadata: {name: pull-secret, namespace: %[1]s}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: %[2]q}
---
apiVersion: v1
kind: Pod
metadata: {name: prober, namespace: %[1]s}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  imagePullSecrets: [{name: pull-secret}]
  containers:
  - name: prober
    image: %[3]s
    command: [/bin/sh, -c, "mkdir -p /tmp/w && echo probed >/tmp/w/index.html && exec httpd -f -p 18080 -h /tmp/w"]
`

// prober is the script command: prober NAMESPACE makes a pod from which a script looks around.
func prober(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: prober NAMESPACE")
	}
	pullSecret, err := os.ReadFile(ts.Getenv("PULL_SECRET"))
	ts.Check(err)
	file := ts.MkAbs("prober.yaml")
	ts.Check(os.WriteFile(file, fmt.Appendf(nil, proberPod, args[0], pullSecret, ts.Getenv("TOOLS_IMAGE")), 0o600))
	for _, command := range [][]string{
		{"delete", "pod", "prober", "-n", args[0], "--ignore-not-found"}, {"apply", "-f", file},
		{"wait", "pod/prober", "-n", args[0], "--for=condition=Ready", "--timeout=2m"},
	} {
		mustRun(ts, "kubectl", command...)
	}
}
