package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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

func nodesFile(c cluster.Config) string { return filepath.Join(c.Dir, "management-nodes") }

// readNodes is how many nodes a sandbox's management cluster has, 0 if that was never settled.
func readNodes(c cluster.Config) (int, error) {
	text, err := os.ReadFile(nodesFile(c))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s is no number: %w", nodesFile(c), err)
	}
	return count, nil
}

// chooseNodes settles the number of nodes at the first start: they share the addresses of pods by it, and volumes stay on their node.
func chooseNodes(c *cluster.Config, wanted int) error {
	present, err := readNodes(*c)
	if err != nil {
		return err
	}
	if present == 0 {
		if _, err := os.Stat(c.Kubeconfig()); err == nil {
			present = 1 // of a time when there was no choice
		}
	}
	switch {
	case wanted < 0 || wanted > cluster.MaxNodes:
		return fmt.Errorf("a management cluster of %d nodes cannot be: --management-nodes is 1 to %d", wanted, cluster.MaxNodes)
	case present != 0 && wanted != 0 && present != wanted:
		return fmt.Errorf("the management cluster in %s was made with --management-nodes %d and cannot have %d: use another --dir, or remove it with: hypershift sandbox down --purge", c.Dir, present, wanted)
	case present != 0:
		wanted = present
	}
	c.Nodes = max(wanted, 1)
	return os.WriteFile(nodesFile(*c), []byte(strconv.Itoa(c.Nodes)+"\n"), 0o644)
}
