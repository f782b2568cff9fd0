package ignition

import (
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func TestUnreadNamesReadOnlyPaths(t *testing.T) {
	document := `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"tools"},"spec":{"config":{"ignition":{"version":"3.2.0"},"storage":{
		"files":[{"path":"/usr/local/bin/tool"},{"path":"/opt/bin/tool"},{"path":"/etc/usr/x"},{"path":"/libexec"}],
		"directories":[{"path":"/usr"},{"path":"/var/usr"}],
		"links":[{"path":"/sbin/halt","target":"/opt/halt"},{"path":"/opt/lib","target":"/usr/lib"}]}}}}`
	problems, err := Unread(release.KindKubernetes, []string{document})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/sbin/halt", "/usr", "/usr/local/bin/tool"}
	if len(problems) != len(want) {
		t.Fatalf("%d problems: %s", len(problems), strings.Join(problems, "\n"))
	}
	for i, path := range want {
		if !strings.HasPrefix(problems[i], path+` of MachineConfig "tools": `) || !strings.Contains(problems[i], "/opt") {
			t.Errorf("%s", problems[i])
		}
	}
	if problems, err := Unread(release.KindKubernetes, []string{strings.NewReplacer("/usr", "/opt", "/sbin", "/opt").Replace(document)}); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestIgnitionOfThePayloadsOwn: a version that machines of plain payloads do not understand is left to the programs of others.
func TestIgnitionOfThePayloadsOwn(t *testing.T) {
	document := `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"new"},"spec":{"config":{"ignition":{"version":"3.5.0"}}}}`
	documents, err := Normalize(document)
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := Unread(release.KindOpenShift, documents); err != nil || len(problems) > 0 {
		t.Errorf("of the payload's own programs: %v, %v", problems, err)
	}
	if _, err := Unread(release.KindKubernetes, documents); err == nil || !strings.Contains(err.Error(), "up to version 3.4") {
		t.Errorf("of a plain payload: %v", err)
	}
	if _, err := Normalize(strings.Replace(document, "3.5.0", "3.9.0", 1)); err == nil {
		t.Error("a version that nobody knows is taken")
	}
}
