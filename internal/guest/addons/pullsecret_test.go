package addons

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
)

// syncPullSecret runs the script once on a directory that stands for a node, with these files.
func syncPullSecret(t *testing.T, files map[string]string, systemctl string) (kept, said string) {
	t.Helper()
	root := t.TempDir()
	files["bin/nsenter"] = "#!/bin/sh\n[ \"$*\" = '-t 1 -m -- systemctl restart kubelet.service' ] || exit 9\n" + systemctl
	files["bin/sleep"] = "#!/bin/sh\n"
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", pullSecretScript)
	command.Env = []string{"PATH=" + root + "/bin:" + os.Getenv("PATH"), "ROOT=" + root, "ONCE=1"}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(root, "var/lib/kubelet/config.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content), string(out)
}

func TestPullSecretScript(t *testing.T) {
	const kept, original, global = "var/lib/kubelet/config.json", "etc/original-pull-secret/.dockerconfigjson", "etc/global-pull-secret/.dockerconfigjson"
	for name, test := range map[string]struct {
		files                 map[string]string
		systemctl, want, says string
	}{
		"the same":            {files: map[string]string{kept: `{"auths":{"a":1}}`, original: `{"auths":{"a":1}}`}, systemctl: "exit 1", want: `{"auths":{"a":1}}`},
		"the original":        {files: map[string]string{kept: `{"auths":{"a":1,"b":1}}`, original: `{"auths":{"a":1}}`}, want: `{"auths":{"a":1}}`, says: "started again"},
		"the merged":          {files: map[string]string{kept: `{"auths":{"a":1}}`, original: `{"auths":{"a":1}}`, global: `{"auths":{"a":1,"b":1}}`}, want: `{"auths":{"a":1,"b":1}}`, says: "started again"},
		"no pull secret":      {files: map[string]string{kept: `{"auths":{"a":1}}`, original: `{}`}, want: `{"auths":{"a":1}}`, says: "keeps its own"},
		"a kubelet that dies": {files: map[string]string{kept: `{"auths":{"a":1}}`, original: `{"auths":{}}`}, systemctl: "exit 1", want: `{"auths":{"a":1}}`, says: "comes back"},
	} {
		t.Run(name, func(t *testing.T) {
			got, said := syncPullSecret(t, test.files, test.systemctl)
			if strings.TrimSpace(got) != test.want || !strings.Contains(said, test.says) || test.says == "" && said != "" {
				t.Errorf("%q, and says %q", got, said)
			}
		})
	}
}

func TestPullSecretsOfNodes(t *testing.T) {
	facts := guesttest.PlainFacts()
	facts.PullSecret = []byte(`{"auths":{"a":{}}}`)
	hash := func() (string, bool) {
		var label string
		merged := false
		for _, obj := range pullSecrets(facts) {
			switch o := obj.(type) {
			case *appsv1.DaemonSet:
				label = o.Spec.Template.Labels[pullSecretHash]
				if o.Spec.Selector.MatchLabels[pullSecretHash] != "" || o.Spec.Template.Spec.NodeSelector[hyperv1.NodePoolGlobalPullSecretLabel] != "true" {
					t.Errorf("selector %v, nodes %v", o.Spec.Selector.MatchLabels, o.Spec.Template.Spec.NodeSelector)
				}
			case *corev1.Secret:
				merged = merged || o.Name == globalPullSecret
			}
		}
		return label, merged
	}
	before, merged := hash()
	if before == "" || merged {
		t.Errorf("pods of %q, merged %t", before, merged)
	}
	facts.MergedPullSecret = []byte(`{"auths":{"a":{},"b":{}}}`)
	if after, merged := hash(); after == before || !merged {
		t.Errorf("pods of %q, then %q; merged %t", before, after, merged)
	}
}
