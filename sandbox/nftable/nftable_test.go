package nftable

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
	"sigs.k8s.io/knftables"
)

const ours = "ip test-of-nftable"

// inNamespace gives the test a packet filter of its own.
func inNamespace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		t.Skip("skipped: needs root and nft")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with its namespace
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
}

func table(rules ...string) *Table {
	t := New(knftables.IPv4Family, "test-of-nftable")
	t.Base("in", Hook{knftables.FilterType, knftables.InputHook, knftables.FilterPriority + "-5"}, rules...)
	return t
}

// ruleset is all that the namespace has, without what only lays it out.
func ruleset(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// A rule leads to a chain and looks into a set that are added after it, and all of a table is in one transaction.
func TestString(t *testing.T) {
	tb := table("jump later", "ip saddr @few drop")
	tb.Chain("later", "accept")
	tb.Add(&knftables.Chain{Name: "told", Comment: knftables.PtrTo("demo/a")})
	want := `add table ip test-of-nftable
delete table ip test-of-nftable
add table ip test-of-nftable
add chain ip test-of-nftable in { type filter hook input priority -5 ; policy accept ; }
add chain ip test-of-nftable later
add chain ip test-of-nftable told { comment "demo/a" ; }
add rule ip test-of-nftable in jump later
add rule ip test-of-nftable in ip saddr @few drop
add rule ip test-of-nftable later accept
`
	if got := tb.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReplace(t *testing.T) {
	inNamespace(t)
	var l Loader
	first := table("jump later")
	first.Chain("later", "tcp dport 1 drop")
	if err := l.Replace(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if got := ruleset(t); !strings.Contains(got, "jump later") || !strings.Contains(got, "tcp dport 1 drop") || !strings.Contains(got, "priority filter - 5") {
		t.Errorf("loaded: %s", got)
	}
	second := table("tcp dport 2 drop")
	if err := l.Replace(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	loaded := ruleset(t)
	if strings.Contains(loaded, "later") || !strings.Contains(loaded, "tcp dport 2 drop") {
		t.Errorf("something of the former table is left: %s", loaded)
	}

	bad := table("tcp dport 3 drop", "tcp dport nothing drop", "tcp dport 4 drop")
	err := l.Replace(t.Context(), bad)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error of a table that nft refuses: %v", err)
	}
	for _, part := range []string{ours, "Error: ", "tcp dport nothing drop"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if got := ruleset(t); got != loaded {
		t.Errorf("a refused table changed what was loaded: %s", got)
	}
	if err := l.Replace(t.Context(), bad); err == nil {
		t.Error("a refused table counts as loaded")
	}
	// It is one table's loader: what is meant for another one must not come into this.
	if err := l.Replace(t.Context(), New(knftables.InetFamily, "other")); err == nil {
		t.Error("another table is loaded")
	}
	if got := ruleset(t); got != loaded {
		t.Errorf("another table changed this one: %s", got)
	}
}

// counted puts a program before nft in PATH that writes down how it was called.
func counted(t *testing.T) func() []string {
	t.Helper()
	real, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("skipped: needs nft")
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$*\" >>" + calls + "\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "nft"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		text, _ := os.ReadFile(calls)
		_ = os.Remove(calls)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// Each pass of a hypervisor asks for the rules: only those that differ may cost a process, and only one.
func TestProgramsRun(t *testing.T) {
	inNamespace(t)
	calls := counted(t)
	var l Loader
	for _, step := range []struct {
		name string
		of   *Table
		want []string
	}{
		{"the first", table("accept"), []string{"--version", "--check -f -", "-f -"}},
		{"the same", table("accept"), []string{""}},
		{"another", table("drop"), []string{"-f -"}},
		{"the first again", table("accept"), []string{"-f -"}},
	} {
		if err := l.Replace(t.Context(), step.of); err != nil {
			t.Fatal(err)
		}
		if got := calls(); !slices.Equal(got, step.want) {
			t.Errorf("%s runs nft with %q, want %q", step.name, got, step.want)
		}
	}
}

func TestRemove(t *testing.T) {
	inNamespace(t)
	for _, of := range []*Table{table("accept"), New(knftables.InetFamily, "second"), New(knftables.IPv6Family, "stays")} {
		if err := new(Loader).Replace(t.Context(), of); err != nil {
			t.Fatal(err)
		}
	}
	calls := counted(t)
	if err := Remove(t.Context()); err != nil || calls()[0] != "" {
		t.Errorf("removing nothing runs nft, or fails: %v", err)
	}
	if err := Remove(t.Context(), ours, "ip nothing-of-that-name", "inet second"); err != nil {
		t.Error(err)
	}
	if got := ruleset(t); got != "table ip6 stays { }" {
		t.Errorf("left: %s", got)
	}
	// One that cannot be removed does not keep the next.
	if err := Remove(t.Context(), "no-family x", "ip6 stays"); err == nil || !strings.Contains(err.Error(), "no-family x") {
		t.Errorf("error %v does not name the table", err)
	}
	if got := ruleset(t); got != "" {
		t.Errorf("left: %s", got)
	}
}

// A machine without nft has no tables of ours; what has to be loaded there is an error.
func TestWithoutNft(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Remove(context.Background(), ours); err != nil {
		t.Errorf("removing: %v", err)
	}
	if err := new(Loader).Replace(context.Background(), table()); err == nil || !strings.Contains(err.Error(), "nft") {
		t.Errorf("loading: %v", err)
	}
}
