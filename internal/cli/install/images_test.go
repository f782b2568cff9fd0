package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

const digest = "sha256:0000000000000000000000000000000000000000000000000000000000000001"

func TestImagesMustRunOnTheNodes(t *testing.T) {
	node := func(arch string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: arch}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{Architecture: arch}}}
	}
	const registry = "registry.example.com/own"
	dns := version.ExternalDNSImageIn(registry)
	absent, away := &release.Error{Image: dns, Reason: release.ReasonNotFound, Cause: errors.New("no")}, &release.Error{Image: dns, Reason: release.ReasonUnreachable, Cause: errors.New("no answer")}
	for _, tc := range []struct {
		name        string
		nodes, dns  []string
		failure     error
		others      bool
		err, warned string
	}{
		{"all fit", []string{"amd64"}, []string{"amd64"}, nil, false, "", ""},
		{"no node runs it", []string{"arm64"}, []string{"amd64"}, nil, false, "image " + dns + " is for amd64, and the nodes of the management cluster are arm64; push an image for them", ""},
		{"no node runs another's", []string{"arm64"}, []string{"amd64"}, nil, true, "nodes of the management cluster are arm64; give an image for them", ""},
		{"some nodes do not", []string{"amd64", "arm64"}, []string{"amd64"}, nil, false, "", "image " + dns + " is not for arm64"},
		{"nobody knows", []string{"amd64"}, nil, away, false, "", "cannot tell which nodes " + dns + " runs on: read image"},
		{"not published", []string{"amd64"}, nil, absent, false, "image " + dns + " is not in the registry; publish it there with: hypershift images publish --to", ""},
		{"another's is absent", []string{"amd64"}, nil, absent, true, "", "check repository and tag"},
		{"no nodes yet", nil, []string{"amd64"}, nil, false, "", ""},
	} {
		said := ""
		i := &installer{client: clitest.Client(), registry: registry, say: func(format string, args ...any) { said += fmt.Sprintf(format, args...) + "\n" },
			opts: &install.Options{Image: version.OperatorImageIn(registry), ExternalDNS: install.ExternalDNS{Provider: "azure", Image: dns}}}
		if tc.others {
			i.registry = ""
		}
		for _, arch := range tc.nodes {
			if err := i.client.Create(t.Context(), node(arch)); err != nil {
				t.Fatal(err)
			}
		}
		i.describe = func(_ context.Context, image string) (*release.Description, error) {
			switch {
			case image != dns:
				return &release.Description{Digest: digest, Architectures: []string{"arm64", "amd64"}}, nil
			case tc.failure != nil:
				return nil, tc.failure
			}
			return &release.Description{Digest: digest, Architectures: tc.dns}, nil
		}
		err := i.checkImages(t.Context())
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.err)
		}
		if (said == "") != (tc.warned == "") || !strings.Contains(said, tc.warned) {
			t.Errorf("%s: said %q, want %q", tc.name, said, tc.warned)
		}
		if got := i.opts.Pinned[version.OperatorImageIn(registry)]; got != registry+"/hypershift-operator@"+digest {
			t.Errorf("%s: the operator's image is written as %q", tc.name, got)
		}
		if pinned := i.opts.Pinned[dns] != ""; pinned != (tc.failure == nil) {
			t.Errorf("%s: the image of ExternalDNS is written as %q", tc.name, i.opts.Pinned[dns])
		}
	}
}

// What is not pulled is not looked for.
func TestImagesThatAreNeverPulled(t *testing.T) {
	i := &installer{client: clitest.Client(), opts: &install.Options{Image: "operator:1", ImagePullPolicy: "Never"}}
	if err := i.checkImages(t.Context()); err != nil || len(i.opts.Pinned) > 0 {
		t.Errorf("%v, written as %v", err, i.opts.Pinned)
	}
}

// A registry that is away does not change what runs, unless another image is asked for.
func TestPinnedImageStays(t *testing.T) {
	for _, tc := range []struct {
		given, mark, by string
		stays           bool
	}{
		{"r.example.com/operator:1", "r.example.com/operator:1", install.FieldManager, true},
		{"r.example.com/operator:2", "r.example.com/operator:1", install.FieldManager, false},
		{"r.example.com/operator:1", "r.example.com/operator:1", "somebody", false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "operator", Annotations: map[string]string{install.GivenImageAnnotation: tc.mark}}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "r.example.com/sidecar:1"}, {Image: "r.example.com/operator@" + digest}}
		c := fake.NewClientBuilder().WithReturnManagedFields().Build()
		if err := c.Create(t.Context(), d, client.FieldOwner(tc.by)); err != nil {
			t.Fatal(err)
		}
		i := &installer{client: c, say: func(string, ...any) {}, opts: &install.Options{Namespace: "hypershift", Image: tc.given},
			describe: func(context.Context, string) (*release.Description, error) { return nil, errors.New("no answer") }}
		if err := i.checkImages(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stays := i.opts.Pinned[tc.given] == "r.example.com/operator@"+digest; stays != tc.stays {
			t.Errorf("%+v: written as %v", tc, i.opts.Pinned)
		}
	}
}

// What was published is on file by digest: a registry that does not answer is no reason to write its tag.
func TestPublishedImagesAreOnFile(t *testing.T) {
	const registry = "r.example.com/own"
	image, exact := version.OperatorImageIn(registry), registry+"/hypershift-operator@"+digest
	for _, tc := range []struct {
		of   handoff.Images
		want string
	}{
		{handoff.Images{Registry: registry, Version: version.Version, References: map[string]string{"hypershift-operator": exact}}, exact},
		{handoff.Images{Registry: registry, Version: "v0", References: map[string]string{"hypershift-operator": exact}}, ""},
		{handoff.Images{Registry: "other.example.com", Version: version.Version, References: map[string]string{"hypershift-operator": exact}}, ""},
		{handoff.Images{Registry: registry, Version: version.Version, References: map[string]string{"hypershift-operator": "evil.example.com/x@" + digest}}, ""},
		{handoff.Images{Registry: registry, Version: version.Version}, ""},
	} {
		f := &installFlags{registry: registry, record: azureflags.HandoffFile{File: &handoff.File{Images: &tc.of}}}
		i := &installer{client: clitest.Client(), say: func(string, ...any) {}, opts: &install.Options{Image: image}, recorded: f.recorded(),
			describe: func(context.Context, string) (*release.Description, error) { return nil, errors.New("no answer") }}
		if err := i.checkImages(t.Context()); err != nil || i.opts.Pinned[image] != tc.want {
			t.Errorf("%+v: %v, written as %v", tc.of, err, i.opts.Pinned)
		}
	}
}

// rendering is what install render prints with the flags.
func rendering(t *testing.T, line string) (string, error) {
	t.Helper()
	cmd := NewCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(strings.Fields("render --outputs resources --external-dns-provider=azure --external-dns-secret=s --external-dns-domain-filter=d.example " + line))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// The images come from the registry that is typed, else from that of the hand-off file; a flag that names one wins.
func TestImageRegistry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.yaml")
	written := &handoff.File{APIVersion: handoff.Version, Kind: handoff.Kind, Images: &handoff.Images{Registry: "filed.example.com/x"}}
	if err := written.Write(file); err != nil {
		t.Fatal(err)
	}
	operator, dns := "image: "+version.OperatorImageIn("r.example.com/own")+"\n", "image: "+version.ExternalDNSImageIn("r.example.com/own")+"\n"
	for _, tc := range []struct {
		line string
		want []string
	}{
		{"--image-registry r.example.com/own", []string{operator, dns}},
		{"--image-registry r.example.com/own/", []string{operator, dns}},
		{"--image-registry r.example.com/own --hypershift-image mine:1", []string{"image: mine:1\n", dns}},
		{"--image-registry r.example.com/own --external-dns-image dns:1", []string{operator, "image: dns:1\n"}},
		{"--handoff " + file, []string{"image: " + version.OperatorImageIn("filed.example.com/x") + "\n"}},
		{"--image-registry r.example.com/own --handoff " + file, []string{operator, dns}},
	} {
		out, err := rendering(t, tc.line)
		for _, want := range tc.want {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v, no %q", tc.line, err, want)
			}
		}
	}
	for _, tc := range []struct{ line, cue string }{
		{"--image-registry https://r.example.com", "--image-registry"}, {"--image-registry own", "--image-registry"}, {"--image-registry r.example.com/own:1", "--image-registry"},
		{"--image-registry r.example.com/OWN", "--image-registry"}, {"--handoff " + file + ".absent", "cannot read the hand-off file"},
	} {
		if _, err := rendering(t, tc.line); err == nil || !strings.Contains(err.Error(), tc.cue) {
			t.Errorf("%s: %v", tc.line, err)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !strings.Contains(string(after), "filed.example.com/x") {
		t.Errorf("a rendering wrote the hand-off file: %s, %v", after, err)
	}
}

// A rendering asks registries only when it is told to, and then prints digests or says what is missing.
func TestRenderResolvesImages(t *testing.T) {
	registry := releasetest.New(t)
	operator := registry.Push(t, "operator", releasetest.Payload{Version: "4.21.0"}.Build(t))
	dns := registry.Push(t, "dns", releasetest.Payload{Version: "4.21.1"}.Build(t))
	images := "--hypershift-image " + operator + " --external-dns-image " + dns
	repository, _, _ := strings.Cut(operator, ":operator")
	if out, err := rendering(t, images); err != nil || !strings.Contains(out, "image: "+operator+"\n") {
		t.Errorf("without --resolve-images: %v", err)
	}
	out, err := rendering(t, images+" --resolve-images")
	if err != nil || strings.Count(out, "image: "+repository+"@sha256:") != 2 || !strings.Contains(out, install.GivenImageAnnotation+": "+operator+"\n") {
		t.Errorf("with --resolve-images: %v\n%s", err, out)
	}
	if _, err := rendering(t, images+"x --resolve-images"); err == nil || !strings.Contains(err.Error(), "--resolve-images: read image") {
		t.Errorf("an image that is not there: %v", err)
	}
}
