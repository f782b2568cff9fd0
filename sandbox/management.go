package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
)

// Kinds of management clusters.
const (
	OpenShift = "openshift" // shows the APIs of OpenShift that the product asks for, and routes Routes
	Plain     = "plain"     // Kubernetes and nothing else
)

func managementFile(c cluster.Config) string { return filepath.Join(c.Dir, "management") }

// readManagement is the kind of a sandbox's management cluster, "" if there was none yet.
func readManagement(c cluster.Config) (string, error) {
	text, err := os.ReadFile(managementFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// chooseManagement settles the kind at the first start; what was applied to a cluster of one kind would be in the way of the
// other.
func chooseManagement(c *cluster.Config, wanted string) error {
	present, err := readManagement(*c)
	if err != nil {
		return err
	}
	if present == "" {
		if _, err := os.Stat(c.Kubeconfig()); err == nil {
			present = OpenShift // of a time when there was no other
		}
	}
	switch {
	case wanted != "" && wanted != OpenShift && wanted != Plain:
		return fmt.Errorf("a management cluster of kind %q is unknown: use %s or %s", wanted, OpenShift, Plain)
	case present != "" && wanted != "" && present != wanted:
		return fmt.Errorf("the management cluster in %s is of kind %s and cannot become %s: use another --dir, or remove it with: hypershift sandbox down --purge", c.Dir, present, wanted)
	case present != "":
		wanted = present
	case wanted == "":
		wanted = OpenShift
	}
	c.Plain = wanted == Plain
	return os.WriteFile(managementFile(*c), []byte(wanted+"\n"), 0o644)
}
