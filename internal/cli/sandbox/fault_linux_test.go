package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run types a line after "hypershift sandbox".
func run(t *testing.T, words ...string) (stdout string, err error) {
	t.Helper()
	cmd := NewCommand()
	var out, messages bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(words)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// adminSocket answers like the admin socket of a sandbox and keeps what it is sent.
func adminSocket(t *testing.T) (dir string, sent *[]string) {
	t.Helper()
	dir, sent = t.TempDir(), new([]string)
	if err := os.Mkdir(filepath.Join(dir, "azure"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "azure", "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*sent = append(*sent, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		switch r.Method {
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, `{"rules":[{"id":"f1","preset":"throttled","path":"x/*","probability":0.05,"count":3,"status":429,"code":"Busy","matched":9,"fired":2}]}`)
		}
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return dir, sent
}

func TestSandboxFaultAdd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faults.json")
	if err := os.WriteFile(file, []byte(`{"rules":[{"preset":"paging"},{"latency":"1s"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"--preset principal-not-found --seconds 5":                     `{"preset":"principal-not-found","seconds":5}`,
		"--plane arm --method PUT --path a/* --principal p --count 2":  `{"plane":"arm","method":"PUT","path":"a/*","principal":"p","count":2}`,
		"--probability 0.5 --seed 7 --status 429 --code C --message m": `{"probability":0.5,"seed":7,"status":429,"code":"C","message":"m"}`,
		"--status 503 --retry-after 1500ms --latency 20ms --create":    `{"create":true,"latency":"20ms","status":503,"retryAfter":"1.5s"}`,
		"--reset-after":                  `{"reset":"after"}`,
		"--reset-before --id one":        `{"id":"one","reset":"before"}`,
		"--operation slow --seconds 3":   `{"operation":"slow","seconds":3}`,
		"--propagation role --seconds 3": `{"propagation":"role","seconds":3}`,
		"--clock 2h --plane entra":       `{"plane":"entra","clock":"2h0m0s"}`,
		`--page-size 2 --change-id-case --plane arm --patch {"tags":{}}`: `{"plane":"arm","pageSize":2,"changeIdCase":true,"patch":{"tags":{}}}`,
		"--file " + file: `{"preset":"paging"},{"latency":"1s"}`,
	} {
		t.Run(flags, func(t *testing.T) {
			dir, sent := adminSocket(t)
			_, err := run(t, append([]string{"fault", "add", "--dir", dir}, strings.Fields(flags)...)...)
			if err != nil || len(*sent) != 1 {
				t.Fatalf("sent %q: %v", *sent, err)
			}
			got := strings.ReplaceAll((*sent)[0], `,"matched":0,"fired":0`, "")
			if got != `POST /faults {"rules":[`+want+`]}` {
				t.Errorf("sent %s", got)
			}
		})
	}
}

func TestSandboxFaultListAndClear(t *testing.T) {
	dir, sent := adminSocket(t)
	table, _ := run(t, "fault", "list", "--dir", dir)
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != 2 || strings.Join(strings.Fields(lines[1]), " ") != "f1 throttled - - x/* 5%, 3x 2 429 Busy" {
		t.Errorf("table:\n%s", table)
	}
	text, _ := run(t, "fault", "list", "--dir", dir, "-o", "json")
	var doc struct{ Rules []map[string]any }
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Rules) != 1 || doc.Rules[0]["fired"] != 2.0 {
		t.Errorf("JSON %s: %v", text, err)
	}
	for _, ids := range [][]string{{"f1", "f2"}, nil} {
		if _, err := run(t, append([]string{"fault", "clear", "--dir", dir}, ids...)...); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join((*sent)[2:], ", "); got != "DELETE /faults/f1, DELETE /faults/f2, DELETE /faults" {
		t.Errorf("sent %s", got)
	}
}

func TestSandboxFaultErrors(t *testing.T) {
	for flags, want := range map[string]string{
		"--latency 1s":                 "no sandbox is up in",
		"--patch nonsense":             "--patch is no JSON object",
		"--file /nonexistent":          "reading the faults",
		"--reset-before --reset-after": "reset-after reset-before",
		"--latency 1s --output yaml":   "use json or text",
	} {
		if _, err := run(t, append([]string{"fault", "add", "--dir", t.TempDir()}, strings.Fields(flags)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
}

// A fault of a node that is unknown, or of a sandbox that is not up, is refused before anything is done.
func TestSandboxFaultNodeErrors(t *testing.T) {
	for line, want := range map[string]string{
		"management-1 explode": "cordon, disk-full, disk-slow, down, drain, partition, reboot, uncordon, up",
		"management-1 down":    "--management-nodes 3",
		"management-1":         "accepts 2 arg(s)",
	} {
		if _, err := run(t, append([]string{"fault", "node", "--dir", t.TempDir()}, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
