package build

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeHost lacks the given programs until apt-get installs.
func fakeHost(t *testing.T, lacks ...string) (*host, *[]string) {
	t.Helper()
	var calls []string
	root := t.TempDir()
	for _, dir := range []string{"usr/sbin", "etc/ssl/certs", "var/lib/apt/lists"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	touch(t, filepath.Join(root, caBundle))
	touch(t, filepath.Join(root, protocols))
	h := &host{root: root, isRoot: true, progress: newTally(nil, time.Now)}
	h.found = func(program string) bool { return !slices.Contains(lacks, program) }
	h.run = func(_ context.Context, _ string, _ []string, _ string, args ...string) (string, error) {
		calls = append(calls, strings.Join(args, " "))
		if _, err := os.Stat(filepath.Join(root, "usr/sbin/policy-rc.d")); err != nil {
			t.Error("services may start")
		}
		if slices.Contains(args, "install") {
			lacks = nil
		}
		return "", nil
	}
	return h, &calls
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNothingMissingNothingDone(t *testing.T) {
	h, calls := fakeHost(t)
	h.isRoot = false
	if err := h.ensure(t.Context()); err != nil || len(*calls) > 0 {
		t.Errorf("%v, %v", err, *calls)
	}
}

func TestOnlyMissingPackagesAreInstalled(t *testing.T) {
	h, calls := fakeHost(t, "nft", "conntrack")
	if err := h.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*calls) != 2 || !strings.HasSuffix((*calls)[0], " update") || !strings.HasSuffix((*calls)[1], "install nftables conntrack") {
		t.Errorf("calls: %v", *calls)
	}
	if _, err := os.Stat(filepath.Join(h.root, "usr/sbin/policy-rc.d")); err == nil {
		t.Error("the policy was left behind")
	}
}

func TestNamesOfProtocolsAreNeeded(t *testing.T) {
	h, _ := fakeHost(t)
	if err := os.Remove(filepath.Join(h.root, protocols)); err != nil {
		t.Fatal(err)
	}
	if missing := h.missing(); !slices.Equal(missing, []string{"netbase"}) {
		t.Errorf("missing: %v", missing)
	}
}

func TestOldListsAreFetchedAgain(t *testing.T) {
	h, calls := fakeHost(t, "ip")
	touch(t, filepath.Join(h.root, "var/lib/apt/lists/x_Packages"))
	installs, inner := 0, h.run
	h.run = func(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
		if slices.Contains(args, "install") {
			if installs++; installs == 1 {
				return "", &commandError{name: name, tail: "E: Unable to locate package iproute2", err: os.ErrInvalid}
			}
		}
		return inner(ctx, dir, env, name, args...)
	}
	if err := h.ensure(t.Context()); err != nil || len(*calls) != 2 {
		t.Errorf("%v, %v", err, *calls)
	}
}

func TestAdministratorsPolicyStays(t *testing.T) {
	h, _ := fakeHost(t, "ip")
	policy := filepath.Join(h.root, "usr/sbin/policy-rc.d")
	touch(t, policy)
	if err := h.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(policy); err != nil || len(text) > 0 {
		t.Errorf("policy: %q, %v", text, err)
	}
}

func TestErrorsNameThePackages(t *testing.T) {
	noApt, _ := fakeHost(t, "ip", "nft", "apt-get")
	noRoot, _ := fakeHost(t, "ip", "nft")
	noRoot.isRoot = false
	for name, h := range map[string]*host{"no apt-get": noApt, "not root": noRoot} {
		err := h.ensure(t.Context())
		if err == nil || !strings.Contains(err.Error(), "iproute2 nftables") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDebianLinks(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"bin/busybox", "usr/bin/ctr", "usr/sbin/runc"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		touch(t, filepath.Join(root, file))
		if err := linkDebian(root, filepath.Base(file)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(root, "bin", filepath.Base(file))); err != nil {
			t.Error(err)
		}
	}
	if err := linkDebian(root, "containerd"); err == nil {
		t.Error("a missing program was accepted")
	}
	if complete(root) {
		t.Error("complete without containerd")
	}
}
