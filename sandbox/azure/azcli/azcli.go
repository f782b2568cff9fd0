// Package azcli carries the repair of Debian's Azure CLI.
package azcli

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed sitecustomize.py
var overlay []byte

// Install writes the overlay into the folder, which then belongs on PYTHONPATH.
func Install(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("installing the repair of the Azure CLI: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), overlay, 0o644); err != nil {
		return fmt.Errorf("installing the repair of the Azure CLI: %w", err)
	}
	return nil
}
