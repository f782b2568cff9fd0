package scale

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// What people wait for with a hundred hosted clusters.
const (
	mostStatus  = 300 * time.Millisecond // `hypershift status`, from its start to its end
	mostPaint   = 500 * time.Millisecond // the first page of the dashboard, until a browser has painted it
	mostExplain = 2 * time.Second        // `hypershift explain cluster` of one that is broken
	looks       = 7                      // of which the median counts
)

// TestPeople measures the programs that people wait for, against a real API server with a fleet that the operator has made. Without -figures a small
// fleet shows that they say what they should.
func TestPeople(t *testing.T) {
	clusters := 3
	if *figures {
		clusters = 100
	}
	f := newFleet(t, clusters)
	f.create(t)
	o := startOperator(t, buildOperator(t), f.kubeconfig, "--registry-overrides="+releasetest.Trust(f.image))
	f.settle(t, o)
	o.stop(t)
	f.fill(t)
	f.breakOne(t)
	p := &person{program: build(t, "hypershift"), kubeconfig: f.kubeconfig}

	hold := func(what string, most time.Duration, look func() time.Duration) {
		t.Helper()
		var all []time.Duration
		for range looks {
			all = append(all, look())
		}
		slices.Sort(all)
		median := all[looks/2]
		t.Logf("%s with %d hosted clusters, %d machines: %d ms (may be %d)", what, clusters, clusters*poolsPerCluster*nodesPerPool, median.Milliseconds(), most.Milliseconds())
		if *figures && median > most {
			t.Errorf("%s takes %s, and may take %s", what, median, most)
		}
	}
	hold("status", mostStatus, func() time.Duration {
		took, out := p.types(t, "status")
		if got := strings.Count(out, "  Ready  "); got != clusters*poolsPerCluster*nodesPerPool {
			t.Fatalf("%d machines are shown as Ready:\n%.2000s", got, out)
		}
		return took
	})
	hold("explain of a broken cluster", mostExplain, func() time.Duration {
		took, out := p.types(t, "explain", "cluster", "fleet-000")
		if !strings.Contains(out, "[pod-unschedulable]") || !strings.Contains(out, "Insufficient cpu") {
			t.Fatalf("the cause is not found:\n%s", out)
		}
		return took
	})
	address := p.dashboard(t)
	b := openBrowser(t)
	hold("the dashboard's first paint", mostPaint, func() time.Duration { return b.paint(t, address, fmt.Sprintf("fleet-%03d", clusters-1)) })
}

// breakOne has a cluster without etcd, for which there is no room, and with pods that fail after it.
func (f *fleet) breakOne(t *testing.T) {
	t.Helper()
	key := client.ObjectKey{Namespace: "clusters", Name: "fleet-000"}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		hc := &hyperv1.HostedCluster{}
		if err := f.Get(t.Context(), key, hc); err != nil {
			return err
		}
		for _, kind := range []string{hyperv1.HostedClusterAvailable, hyperv1.EtcdAvailable, hyperv1.KubeAPIServerAvailable} {
			meta.SetStatusCondition(&hc.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: hyperv1.EtcdWaitingForQuorumReason, Message: "0 of 1 pods of etcd are ready"})
		}
		return f.Status().Update(t.Context(), hc)
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting := func(app, name string, status corev1.PodStatus) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-fleet-000", Name: name, Labels: map[string]string{"app": app}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: app, Image: "quay.io/none", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			}}}, AutomountServiceAccountToken: new(false)}}
		if err := f.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		pod.Status = status
		if err := f.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	waiting("etcd", "etcd-0", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/1 nodes are available: 1 Insufficient cpu.", LastTransitionTime: metav1.Now()}}})
	for i, app := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "ignition-server", "cluster-api", "capi-provider", "router"} {
		waiting(app, fmt.Sprintf("%s-%d", app, i), corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: app, RestartCount: 5,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}}}})
	}
}

// build compiles a program of this project as it is published.
func build(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/hypershift-on-azure/hypershift/cmd/"+name)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// person types commands.
type person struct{ program, kubeconfig string }

func (p *person) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, p.program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

func (p *person) types(t *testing.T, args ...string) (time.Duration, string) {
	t.Helper()
	var messages bytes.Buffer
	command := p.command(t.Context(), args...)
	command.Stderr = &messages
	begin := time.Now()
	out, err := command.Output()
	took := time.Since(begin)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, messages.String())
	}
	return took, string(out)
}

// dashboard serves until the test ends, at the address.
func (p *person) dashboard(t *testing.T) string {
	t.Helper()
	command := p.command(context.WithoutCancel(t.Context()), "dashboard")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v", err)
	}
	return strings.TrimSpace(line)
}

// browser is a headless Chromium that is told what to do by its DevTools protocol.
type browser struct {
	conn *websocket.Conn
	sent int
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: the dashboard's first paint is not measured")
	}
	profile := t.TempDir()
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server", "--user-data-dir="+profile, "--remote-debugging-port=0", "--remote-allow-origins=*")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
	port := ""
	for deadline := time.Now().Add(time.Minute); port == ""; time.Sleep(50 * time.Millisecond) {
		raw, _ := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		port, _, _ = strings.Cut(string(raw), "\n")
		if time.Now().After(deadline) {
			t.Fatal("chromium does not listen")
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1:"+port+"/json/new?about:blank", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var page struct{ WebSocketDebuggerURL string }
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	conn, err := websocket.Dial(page.WebSocketDebuggerURL, "", "http://127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return &browser{conn: conn}
}

// ask calls a method and gives its result.
func (b *browser) ask(t *testing.T, method string, params map[string]any) json.RawMessage {
	t.Helper()
	b.sent++
	if err := websocket.JSON.Send(b.conn, map[string]any{"id": b.sent, "method": method, "params": params}); err != nil {
		t.Fatal(err)
	}
	for {
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := websocket.JSON.Receive(b.conn, &answer); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if answer.ID == b.sent {
			if answer.Error != nil {
				t.Fatalf("%s: %s", method, answer.Error)
			}
			return answer.Result
		}
	}
}

// paint opens the address and tells how long after that the browser had painted, on a page that has the word.
func (b *browser) paint(t *testing.T, address, word string) time.Duration {
	t.Helper()
	b.ask(t, "Page.navigate", map[string]any{"url": "about:blank"})
	b.ask(t, "Page.navigate", map[string]any{"url": address})
	painted := `document.body && document.body.innerText.includes("` + word + `") && performance.getEntriesByName("first-contentful-paint")[0]?.startTime || 0`
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var answer struct{ Result struct{ Value float64 } }
		if err := json.Unmarshal(b.ask(t, "Runtime.evaluate", map[string]any{"expression": painted}), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Result.Value > 0 {
			return time.Duration(answer.Result.Value * float64(time.Millisecond))
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is painted at %s", address)
		}
	}
}
