package dump_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/dump"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// canary is part of each secret of the tests: it must be in no file.
const canary = "canary"

func kinds() []dump.Kind {
	kind := func(group, version, kind, resource string) dump.Kind {
		return dump.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Resource: resource}
	}
	return []dump.Kind{kind("", "v1", "Secret", "secrets"), kind("", "v1", "ConfigMap", "configmaps"), kind("", "v1", "Pod", "pods"), kind("", "v1", "Event", "events"),
		kind(hyperv1.GroupVersion.Group, "v1beta1", "HostedCluster", "hostedclusters"), kind(hyperv1.GroupVersion.Group, "v1beta1", "NodePool", "nodepools"), kind("none", "v1", "None", "nones")}
}

func pod(namespace, name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://user:" + canary + "@proxy:3128"}}}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 1}}
	return p
}

func world(owner string) []client.Object {
	hc := surveytest.Cluster("demo")
	hc.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{}
	hc.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"x":"` + canary + `"}`, "backup": "https://x.blob.core.windows.net/b?sv=1&sig=" + canary + "%2B&se=2"}
	inHome := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "pull"}, Data: map[string][]byte{"k": []byte(canary)}}
	return []client.Object{hc, surveytest.Cluster("other"), surveytest.Pool("demo", "mine", 1), surveytest.Pool("other", "theirs", 1), inHome,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: surveytest.Namespace, Annotations: map[string]string{hyperv1.HostedClusterAnnotation: owner}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: surveytest.Namespace, Name: "keys", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": canary}}, Data: map[string][]byte{"tls.key": []byte(canary)}, StringData: map[string]string{"x": canary}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: surveytest.Namespace, Name: "config"}, Data: map[string]string{"cloud.conf": `{"aadClientSecret": "` + canary + `", "location": "eastus"}`}},
		pod(surveytest.Namespace, "etcd-0"), pod("hypershift", "operator-1"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "of-others"}},
	}
}

func write(t *testing.T, owner, name string) (files map[string]string, said []string, err error) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "dump")
	source := dump.Source{Client: surveytest.Client(world(owner)...).Build(), Kinds: kinds(), Log: func(_ context.Context, namespace, pod, container string, previous bool) (string, error) {
		if namespace == "hypershift" && previous {
			return "", errors.New("gone")
		}
		return "line\nAuthorization: Bearer " + canary + "\ntoken eyJhbGciOiJSUzI1NiJ9." + canary + ".x\n-----BEGIN RSA PRIVATE KEY-----\n" + canary + "\n-----END RSA PRIVATE KEY-----\nclient_secret=" + canary + "&x=y\npassword: " + canary + "\nclient-key-data: " + canary + "\n{\"auths\":{\"x\":{\"auth\": \"" + canary + "\"}}}\n", nil
	}}
	count, err := dump.Write(t.Context(), source, dump.What{Namespace: "clusters", Name: name, Operator: "hypershift", Folder: folder, Say: func(format string, args ...any) {
		said = append(said, format)
	}})
	files = map[string]string{}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw, _ := os.ReadFile(path)
			relative, _ := filepath.Rel(folder, path)
			files[relative] = string(raw)
			if info, _ := d.Info(); info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", relative, info.Mode())
			}
		}
		return nil
	})
	if err == nil && count != len(files) {
		t.Errorf("%d files are told of, %d are there", count, len(files))
	}
	return files, said, err
}

// TestWrite: the files that a support engineer looks for, of this cluster alone, without one secret.
func TestWrite(t *testing.T) {
	files, said, err := write(t, "clusters/demo", "demo")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, text := range files {
		names = append(names, name)
		if strings.Contains(text, canary) {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
		if strings.Contains(text, "theirs") || strings.Contains(text, "name: other") || strings.Contains(text, "of-others") {
			t.Errorf("%s has what is somebody else's:\n%s", name, text)
		}
	}
	slices.Sort(names)
	want := []string{
		"namespaces/clusters-demo/core/configmaps.yaml", "namespaces/clusters-demo/core/pods.yaml", "namespaces/clusters-demo/core/secrets.yaml",
		"namespaces/clusters-demo/pods/etcd-0/c/c/logs/current.log", "namespaces/clusters-demo/pods/etcd-0/c/c/logs/previous.log",
		"namespaces/clusters/hypershift.openshift.io/hostedclusters.yaml", "namespaces/clusters/hypershift.openshift.io/nodepools.yaml",
		"namespaces/hypershift/core/pods.yaml", "namespaces/hypershift/pods/operator-1/c/c/logs/current.log",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	for file, part := range map[string]string{want[2]: "tls.key: <8 characters in base64, removed>", want[0]: "eastus", want[3]: "line\n", want[5]: "sig=<removed>&se=2"} {
		if !strings.Contains(files[file], part) {
			t.Errorf("%s lacks %q:\n%s", file, part, files[file])
		}
	}
	if len(said) != 1 {
		t.Errorf("%v is told, want the log that is gone", said)
	}
}

// Somebody else's namespace is left out, a cluster that is not there is an error, and a folder with files is left alone.
func TestWhatIsNotWritten(t *testing.T) {
	files, said, err := write(t, "other/demo", "demo")
	if err != nil || files["namespaces/clusters-demo/core/pods.yaml"] != "" || len(said) != 2 {
		t.Errorf("%v, %v", said, err)
	}
	files, _, err = write(t, "clusters/demo", "nobody")
	if !apierrors.IsNotFound(err) || len(files) > 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = dump.Write(t.Context(), dump.Source{Client: surveytest.Client(world("x")...).Build()}, dump.What{Namespace: "clusters", Name: "demo", Folder: folder})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v", err)
	}
}

// What is no secret stays as it is.
func TestRedactLeavesText(t *testing.T) {
	for _, text := range []string{"https://issuer.example.com/demo", "user@example.com", "GET /x?signature=1", "passwords are not shown", "serviceAccountToken:\n  audience: api", "automountServiceAccountToken: false", "eyJ", "me: mail@x"} {
		if got := dump.Redact(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
