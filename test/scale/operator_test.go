package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
)

// clockTicks of /proc/<pid>/stat per second; Linux shows a hundred to every program.
const clockTicks = 100

// operator is the real program, as a process of its own.
type operator struct {
	cmd     *exec.Cmd
	log     *os.File
	metrics string
	started time.Time
	// peak is the highest memory seen, in bytes.
	peak atomic.Int64
	done chan struct{}
}

// buildOperator compiles the program once per test run.
func buildOperator(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hypershift-operator")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/hypershift-on-azure/hypershift/cmd/hypershift-operator")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return path
}

// startOperator runs the program against the API server of the kubeconfig until the test ends, and watches its memory.
func startOperator(t *testing.T, program, kubeconfig string, args ...string) *operator {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "operator.log"))
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{log: log, metrics: kubetest.FreeAddress(t), done: make(chan struct{})}
	webhookPort := kubetest.FreePort(t)
	o.cmd = exec.Command(program, "run", "--namespace", "hypershift", "--metrics-addr", o.metrics, "--health-addr", "0", "--webhook-port", webhookPort)
	o.cmd.Args = append(o.cmd.Args, args...)
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	o.started = time.Now()
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go o.watchMemory()
	t.Cleanup(func() { o.stop(t) })
	return o
}

func (o *operator) watchMemory() {
	for {
		select {
		case <-o.done:
			return
		case <-time.After(100 * time.Millisecond):
			if now, err := o.memory(); err == nil {
				o.peak.Store(max(o.peak.Load(), now))
			}
		}
	}
}

// stop ends the program as Kubernetes would, once.
func (o *operator) stop(t *testing.T) {
	t.Helper()
	select {
	case <-o.done:
		return
	default:
	}
	close(o.done)
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the operator ended by itself: %v\n%s", err, o.tail())
	}
	if err := o.cmd.Wait(); err != nil {
		t.Errorf("the operator failed: %v\n%s", err, o.tail())
	}
	o.log.Close()
}

func (o *operator) tail() string {
	raw, err := os.ReadFile(o.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}

// memory is the anonymous memory of the process in bytes: what a cgroup counts as such.
func (o *operator) memory() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, found := strings.CutPrefix(line, "RssAnon:"); found {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no RssAnon", o.cmd.Process.Pid)
}

// cpu is the time on processors so far.
func (o *operator) cpu(t *testing.T) time.Duration {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name in parentheses may hold anything; the twelfth and thirteenth field after it are user and system time.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks
}

// busy says what the operator still has to do, or has not looked at yet.
func (o *operator) busy(clusters, pools int) string {
	samples, err := scrape(context.Background(), http.DefaultClient, "http://"+o.metrics+"/metrics")
	if err != nil {
		return err.Error()
	}
	passes, pending := map[string]float64{}, 0.0
	for series, value := range samples {
		name, labels, _ := strings.Cut(series, "{")
		switch name {
		case "controller_runtime_reconcile_total":
			for _, controller := range []string{"hostedcluster", "nodepool", "conversion-certificates", "storage-migration"} {
				if strings.Contains(labels, `controller="`+controller+`"`) {
					passes[controller] += value
				}
			}
		case "workqueue_depth", "controller_runtime_active_workers":
			pending += value
		}
	}
	converting := passes["conversion-certificates"] > 0 && passes["storage-migration"] > 0
	if passes["hostedcluster"] < float64(clusters) || passes["nodepool"] < float64(pools) || !converting || pending > 0 {
		return fmt.Sprintf("the operator made %v passes and has %.0f to make", passes, pending)
	}
	return ""
}

// requests are all that the operator has sent to the API server.
func (o *operator) requests(t *testing.T) int {
	t.Helper()
	samples, err := scrape(t.Context(), http.DefaultClient, "http://"+o.metrics+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for series, value := range samples {
		if strings.HasPrefix(series, "rest_client_requests_total{") {
			total += value
		}
	}
	return int(total)
}

// scrape reads what Prometheus would: the value of each series.
func scrape(ctx context.Context, httpClient *http.Client, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := httpClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	samples := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		samples[line[:at]] = value
	}
	return samples, nil
}
