package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func socketPath(dir string) string { return filepath.Join(dir, "supervisor.sock") }

// listen opens the control socket; whoever holds the lock owns it.
func listen(dir string) (net.Listener, error) {
	path := socketPath(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket (a shorter --dir helps if the path is too long): %w", err)
	}
	return listener, nil
}

func (s *Supervisor) serve(ctx context.Context, listener net.Listener) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(s.state)
	})
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.reload(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		s.stop()
		w.WriteHeader(http.StatusOK)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		// The answer must leave before the process does.
		time.AfterFunc(20*time.Millisecond, func() { s.finish.Do(func() { close(s.done) }) })
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	_ = server.Serve(listener)
}

// ErrDown says that no supervisor runs.
var ErrDown = errors.New("the sandbox is not running")

func call(ctx context.Context, dir, method, path string, into any) error {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socketPath(dir))
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
			return ErrDown
		}
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("supervisor: %s", strings.TrimSpace(string(text)))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// cutOff tells whether the supervisor ended before it had answered.
func cutOff(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

// Query asks the supervisor for the state of its parts.
func Query(ctx context.Context, dir string) (State, error) {
	var state State
	err := call(ctx, dir, http.MethodGet, "/state", &state)
	return state, err
}

// Reload makes the supervisor follow a changed parts.json.
func Reload(ctx context.Context, dir string) error {
	return call(ctx, dir, http.MethodPost, "/reload", nil)
}

// Stop ends all parts and the supervisor. If there is no supervisor it ends
// what a dead one has left behind.
func Stop(ctx context.Context, dir string) error {
	err := call(ctx, dir, http.MethodPost, "/stop", nil)
	if cutOff(err) {
		err = nil // it answered with its end
	}
	if err != nil && !errors.Is(err, ErrDown) {
		return err
	}
	state, readErr := ReadState(dir)
	if readErr != nil {
		return readErr
	}
	state.Parts[KeeperName].Process.stop(0)
	if errors.Is(err, ErrDown) {
		state.Supervisor.stop(0)
	} else {
		waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
		_ = state.Supervisor.wait(waiting)
		cancel()
	}
	for _, part := range state.Parts {
		part.Process.stop(0)
	}
	return nil
}

// Ensure has a supervisor running that follows parts.json. argv is the command
// of a new one. One of another build is replaced by it; the parts live on.
func Ensure(ctx context.Context, dir string, argv []string, build string) error {
	// A keeper that came up in between may win with the supervisor it knows.
	for range 5 {
		state, err := Query(ctx, dir)
		if err == nil && state.Build == build {
			break
		}
		if err == nil {
			err = retire(ctx, dir, state)
		}
		if err != nil && !errors.Is(err, ErrDown) {
			return err
		}
		if err := startSupervisor(dir, argv); err != nil {
			return err
		}
		if err := awaitAnswer(ctx, dir); err != nil {
			return err
		}
	}
	return Reload(ctx, dir)
}

// awaitAnswer returns when a supervisor answers.
func awaitAnswer(ctx context.Context, dir string) error {
	for {
		if _, err := Query(ctx, dir); !errors.Is(err, ErrDown) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the supervisor does not start (log: %s): %w", logPath(dir, "supervisor"), ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// retire ends a supervisor and its keeper and leaves the parts alone. It uses
// signals only: the supervisor may be of any version. While it is stopped it
// cannot bring the keeper back, and the signal to end waits for it.
func retire(ctx context.Context, dir string, state State) error {
	const patience = 10 * time.Second
	_ = syscall.Kill(state.Supervisor.PID, syscall.SIGSTOP)
	_ = syscall.Kill(state.Supervisor.PID, syscall.SIGTERM)
	state.Parts[KeeperName].Process.stop(0)
	_ = syscall.Kill(state.Supervisor.PID, syscall.SIGCONT)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := state.Supervisor.wait(waiting); err != nil {
		return fmt.Errorf("the supervisor (process %d) of another build does not end: %w", state.Supervisor.PID, err)
	}
	last, err := ReadState(dir)
	if err != nil {
		return err
	}
	last.Parts[KeeperName].Process.stop(0)
	return nil
}

func logPath(dir, part string) string { return filepath.Join(dir, "logs", part+".log") }

func startSupervisor(dir string, argv []string) error {
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o750); err != nil {
		return err
	}
	_, cmd, err := launch(argv, nil, logPath(dir, "supervisor"))
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	go reap(cmd)
	return nil
}

// hopeless is the number of restarts after which nobody waits for a part any
// longer: it has been given half a minute, and every start failed.
const hopeless = 8

var errHopeless = errors.New("it does not stay up")

// WaitReady blocks until the named parts are ready. report, which may be nil, is called
// for each part when it becomes so.
func WaitReady(ctx context.Context, dir string, names []string, report func(name string)) error {
	if report == nil {
		report = func(string) {}
	}
	done, before := map[string]bool{}, map[string]int{}
	for {
		state, err := Query(ctx, dir)
		if err != nil && !restarting(err) && ctx.Err() == nil {
			return err
		}
		var waiting []string
		for _, name := range names {
			part := state.Parts[name]
			if part.State == Ready && !done[name] {
				done[name] = true
				report(name)
			}
			if done[name] {
				continue
			}
			waiting = append(waiting, name)
			if err == nil && isHopeless(part, name, before) {
				return notReady(dir, state, name, errHopeless)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return notReady(dir, state, waiting[0], ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// restarting tells of an answer whether the supervisor is just being restarted: it is down, or went down while it answered.
func restarting(err error) bool { return errors.Is(err, ErrDown) || cutOff(err) }

// isHopeless tells whether a part does not stay up, since before, which it keeps, was noted.
func isHopeless(part PartState, name string, before map[string]int) bool {
	if first, known := before[name]; !known || part.Restarts < first {
		before[name] = part.Restarts
	}
	return part.State == BackOff && part.Restarts-before[name] >= hopeless
}

// notReady explains why a part is not ready.
func notReady(dir string, state State, name string, cause error) error {
	part := state.Parts[name]
	if part.State == Waiting {
		return fmt.Errorf("%s still waits for other parts: %w", name, cause)
	}
	text := fmt.Sprintf("%s is not ready (%s, restarted %d times", name, part.State, part.Restarts)
	if part.Message != "" {
		text += ", " + part.Message
	}
	return fmt.Errorf("%s); end of %s:\n%s\n%w", text, logPath(dir, name), Tail(dir, name, 10), cause)
}
