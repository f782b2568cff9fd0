package nodepool

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
)

// Mirrors are part of what nodes are: a change of them makes new ones.
func TestMirrorsArePartOfTheConfiguration(t *testing.T) {
	versions := map[string]bool{}
	for _, mirror := range []string{"", "mirror.test/art", "other.test/art"} {
		objects := append(surroundings(t), nodePool())
		for _, obj := range objects {
			if hc, ok := obj.(*hyperv1.HostedCluster); ok && mirror != "" {
				hc.Spec.ImageContentSources = []hyperv1.ImageContentSource{{Source: "quay.io/art", Mirrors: []string{mirror}}}
			}
		}
		w := newWorld(t, objects...)
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		version := w.pool(t).Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]
		versions[version] = true
		token := &corev1.Secret{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: cpns, Name: "token-demo-" + version}, token); err != nil {
			t.Fatal(err)
		}
		manifests, err := ignition.Decompress(token.Data["config"])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(manifests, "ImageDigestMirrorSet") != (mirror != "") || !strings.Contains(manifests, mirror) {
			t.Errorf("mirror %q: %s", mirror, manifests)
		}
	}
	if len(versions) != 3 {
		t.Errorf("configurations %v", versions)
	}
}

// TestMirrorsOfTheControlPlane: nodes are what they are, whether the control-plane-operator tells of the mirrors or one of a former release does not.
func TestMirrorsOfTheControlPlane(t *testing.T) {
	sources := []hyperv1.ImageContentSource{{Source: "quay.io/art", Mirrors: []string{"mirror.test/art"}}}
	versions := map[string]bool{}
	for _, told := range []bool{false, true} {
		objects := append(surroundings(t), nodePool())
		for _, obj := range objects {
			if hc, ok := obj.(*hyperv1.HostedCluster); ok {
				hc.Spec.ImageContentSources = sources
			}
		}
		if told {
			core, err := ignition.CoreConfigMaps(cpns, "ssh-ed25519 AAAA", false, sources)
			if err != nil || core[2].Name != ignition.MirrorsConfigMap {
				t.Fatal(core, err)
			}
			objects = append(objects, core[2])
		}
		w := newWorld(t, objects...)
		if _, err := w.pass(t); err != nil {
			t.Fatal(err)
		}
		versions[w.pool(t).Annotations[hyperv1.NodePoolTargetConfigVersionAnnotation]] = true
	}
	if len(versions) != 1 {
		t.Errorf("configurations %v", versions)
	}
}
