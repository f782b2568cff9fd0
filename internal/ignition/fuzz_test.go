package ignition

import (
	"path"
	"strings"
	"testing"
)

// FuzzRegistryCredentials looks for pull secrets whose entries would become files elsewhere on a node.
func FuzzRegistryCredentials(f *testing.F) {
	f.Add([]byte(`{"auths":{"quay.io/a/b":{"auth":"dTpw"},"https://index.docker.io/v1/":{"username":"u","password":"p"}}}`))
	f.Add([]byte(`{"auths":{"../../../etc/cron.d":{"auth":"dTpw"},"a//b":{"auth":"dTpw"},"a/../..":{"auth":"dTpw"}}}`))
	f.Fuzz(func(t *testing.T, secret []byte) {
		files, err := registryCredentials(secret)
		if err != nil {
			return
		}
		for _, file := range files {
			if path.Clean(file.Path) != file.Path || !strings.HasPrefix(file.Path, registryAuthDir) || path.Base(file.Path) != "basic" {
				t.Errorf("%q becomes file %q", secret, file.Path)
			}
			if file.Mode == nil || *file.Mode != 0o600 {
				t.Errorf("file %q is open to others", file.Path)
			}
		}
	})
}

// FuzzManifests: whatever the author of a NodePool writes into its documents, they have one form, and what a machine is given it accepts.
func FuzzManifests(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a}\nspec: {config: {ignition: {version: 3.2.0}, storage: {files: [{path: /etc/a, mode: 420, contents: {source: 'data:,x'}}]}}}",
		"apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\nspec: {kubeletConfig: {maxPods: 5, evictionHard: {memory.available: 1Gi}}}\n---\n" +
			"apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {kubeletConfig: {evictionHard: null}}",
		"apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec: {imageDigestMirrors: [{source: quay.io/a, mirrors: [../../etc, m.test/b]}]}",
		"apiVersion: operator.openshift.io/v1alpha1\nkind: ImageContentSourcePolicy\nspec: {repositoryDigestMirrors: {}}",
		`{"kind":"MachineConfig","apiVersion":"machineconfiguration.openshift.io/v1","metadata":"x","spec":[]}`,
		"a: &a [*a]", "--- \n---\nnull\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := Normalize(text)
		if err != nil {
			return
		}
		for _, document := range documents {
			again, err := Normalize(document)
			if err != nil || len(again) != 1 || again[0] != document {
				t.Fatalf("%s has another form the second time: %q, %v", document, again, err)
			}
		}
		in := input()
		in.Manifests = strings.Join(documents, "\n---\n")
		rendered, err := Render(in)
		if err != nil {
			return
		}
		if err := Check(rendered); err != nil {
			t.Fatalf("%s: %v", rendered, err)
		}
	})
}
