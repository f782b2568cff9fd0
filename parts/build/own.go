package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ownModule is this project's module.
const ownModule = "github.com/hypershift-on-azure/hypershift"

// ownPrograms are the programs of this project that images carry.
var ownPrograms = []string{"control-plane-operator", "etcd-helper", "hypershift-operator"}

// IsOwnModule tells whether a go.mod is this project's.
func IsOwnModule(mod []byte) bool {
	for line := range strings.Lines(string(mod)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == ownModule
		}
	}
	return false
}

// Own builds this project's programs for images from its source tree, for Linux on amd64 or arm64, and returns their directory. What
// the go command finds unchanged is not linked again.
func Own(ctx context.Context, cache, source, version, arch string, progress func(Event)) (string, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the programs of %s have to be compiled and there is no go command on PATH: install Go (go.dev/dl), or take a bundle: %w", source, err)
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return "", err
	}
	name := sha256.Sum256([]byte(source + "\x00" + version))
	dir := filepath.Join(cache, "own", hex.EncodeToString(name[:8]), arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	b := newBuilder(cache, Target{Kubernetes: KubernetesVersion, Arch: arch}, progress)
	unlock, err := lock(ctx, dir+".lock", func() { b.tally.waits("another process is building into " + dir) })
	if err != nil {
		return "", err
	}
	defer unlock()
	told := newTally(progress, time.Now)
	label := "hypershift-operator " + arch
	told.state(label, Compiling, "")
	// The tree's commit stays in the programs, by which they say what they are.
	args := []string{"build", "-v", "-trimpath", "-ldflags", "-s -w -X " + ownModule + "/internal/version.Version=" + version, "-o", dir + string(filepath.Separator)}
	for _, program := range ownPrograms {
		args = append(args, "./cmd/"+program)
	}
	out, err := b.goRun(ctx, source, args, nil, func(line string) { told.state(label, Compiling, line) })
	if err != nil {
		told.state(label, Failed, "")
		return "", explain(ctx, ownModule, strings.Join(ownPrograms, ", "), out, err)
	}
	told.state(label, Done, "")
	return dir, nil
}
