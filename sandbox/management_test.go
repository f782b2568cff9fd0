package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster"
)

// The kind is settled by the first start.
func TestManagementKind(t *testing.T) {
	for name, c := range map[string]struct {
		starts []string
		plain  bool
		fails  string
	}{
		"the default":                    {starts: []string{""}},
		"plain":                          {starts: []string{Plain}, plain: true},
		"kept":                           {starts: []string{Plain, ""}, plain: true},
		"said again":                     {starts: []string{OpenShift, OpenShift}},
		"another kind for what is there": {starts: []string{Plain, OpenShift}, plain: true, fails: "cannot become openshift"},
		"unknown":                        {starts: []string{"microshift"}, fails: `"microshift" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var err error
			for _, kind := range c.starts {
				config := cluster.Config{Dir: dir}
				err = chooseManagement(&config, kind)
			}
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v", err)
			}
			if found, err := config(dir); err != nil || found.Plain != c.plain {
				t.Errorf("plain is %v: %v", found.Plain, err)
			}
		})
	}
}

// A cluster made before there were kinds is OpenShift's.
func TestManagementKindOfAnOldSandbox(t *testing.T) {
	c := cluster.Config{Dir: t.TempDir()}
	if err := os.Mkdir(c.Dir+"/cluster", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Kubeconfig(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chooseManagement(&c, Plain); err == nil {
		t.Error("it became plain")
	}
	if err := chooseManagement(&c, ""); err != nil || c.Plain {
		t.Errorf("plain is %v: %v", c.Plain, err)
	}
}

// The number of nodes is settled by the first start.
func TestManagementNodes(t *testing.T) {
	for name, c := range map[string]struct {
		starts []int
		nodes  int
		fails  string
	}{
		"the default":    {starts: []int{0}, nodes: 1},
		"three":          {starts: []int{3}, nodes: 3},
		"kept":           {starts: []int{3, 0}, nodes: 3},
		"said again":     {starts: []int{3, 3}, nodes: 3},
		"another number": {starts: []int{3, 1}, nodes: 3, fails: "cannot have 1"},
		"too many":       {starts: []int{10}, fails: "1 to 9"},
		"negative":       {starts: []int{-1}, fails: "1 to 9"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var err error
			for _, count := range c.starts {
				settled := cluster.Config{Dir: dir}
				err = chooseNodes(&settled, count)
			}
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v", err)
			}
			if found, err := config(dir); err != nil || found.Nodes != c.nodes {
				t.Errorf("%d nodes: %v", found.Nodes, err)
			}
		})
	}
}

// A cluster made before there was a choice has one node.
func TestManagementNodesOfAnOldSandbox(t *testing.T) {
	c := cluster.Config{Dir: t.TempDir()}
	if err := os.Mkdir(c.Dir+"/cluster", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Kubeconfig(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chooseNodes(&c, 3); err == nil {
		t.Error("it has three nodes now")
	}
	if err := chooseNodes(&c, 0); err != nil || c.Nodes != 1 {
		t.Errorf("%d nodes: %v", c.Nodes, err)
	}
}
