package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hypershift-on-azure/hypershift/sandbox/machine/system"
)

// filling keeps two machines from filling one layer.
var filling sync.Mutex

// layers are the lower directories of a machine's root file system: the layer of its profile, made when it is missing, and
// the packages. Layers are named by their content: a machine keeps what it was made with.
func layers(cfg Config, profile system.Profile) ([]string, error) {
	filling.Lock()
	defer filling.Unlock()
	roots, err := os.ReadFile(cfg.CABundle)
	if err != nil {
		return nil, fmt.Errorf("roots for the machines: %w", err)
	}
	if _, err := os.Stat(filepath.Join(cfg.System, "usr")); err != nil {
		return nil, fmt.Errorf("the packages of the machines' operating system are missing: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%s%s", profile.Version(), roots, cfg.System))
	dir := filepath.Join(cfg.Dir, ".image", hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return []string{dir, cfg.System}, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return nil, err
	}
	if err := profile.Fill(work, roots); err != nil {
		return nil, errors.Join(fmt.Errorf("operating system of the machines: %w", err), os.RemoveAll(work))
	}
	return []string{dir, cfg.System}, os.Rename(work, dir)
}
