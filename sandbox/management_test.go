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
