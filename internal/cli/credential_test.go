package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/credential"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// asProgram makes this test's binary the program hypershift, for kubectl to start.
const asProgram = "HYPERSHIFT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// signing is a server that is management cluster and hosted cluster in one, whose controller manager signs.
type signing struct {
	*testing.T
	// folder has the program hypershift, the management kubeconfig and all that is written.
	folder, management, kubectl string
	client                      client.Client
}

func newSigning(t *testing.T) *signing {
	server := &kubetest.Server{}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &signing{T: t, folder: t.TempDir(), kubectl: kubetest.Program(t, "kubectl")}
	s.management = kubetest.Kubeconfig(t, server.Config(t), s.folder)
	authority := pki.Authority{Secret: "signer", CN: "signer", OU: "openshift", CertKey: "ca.crt", KeyKey: "ca.key"}
	made, err := pki.EnsureAuthorities(nil, []pki.Authority{authority}, pki.DefaultPolicy(), time.Now())
	s.check(err)
	server.TrustClients(t, made["signer"]["ca.crt"])
	arguments := []string{"--kubeconfig=" + s.management, "--controllers=certificatesigningrequest-signing-controller", "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=" + kubetest.FreePort(t), "--cluster-signing-duration=17520h"}
	for flag, key := range map[string]string{"--cluster-signing-cert-file=": "ca.crt", "--cluster-signing-key-file=": "ca.key"} {
		path := filepath.Join(s.folder, key)
		s.check(os.WriteFile(path, made["signer"][key], 0o600))
		arguments = append(arguments, flag+path)
	}
	controllers := exec.CommandContext(t.Context(), kubetest.Program(t, "kube-controller-manager"), arguments...)
	s.check(controllers.Start())
	t.Cleanup(func() { _ = controllers.Wait() })

	self, err := os.Executable()
	s.check(err)
	s.check(os.Symlink(self, filepath.Join(s.folder, "hypershift")))
	for name, value := range map[string]string{asProgram: "1", "KUBECONFIG": s.management, "XDG_CACHE_HOME": filepath.Join(s.folder, "cache"), "HOME": s.folder,
		"PATH": s.folder + string(filepath.ListSeparator) + os.Getenv("PATH")} {
		t.Setenv(name, value)
	}
	s.client, err = management.NewClient(s.management)
	s.check(err)
	s.hostedCluster()
	return s
}

func (s *signing) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// hostedCluster is clusters/demo, whose API server is this one.
func (s *signing) hostedCluster() {
	s.Helper()
	raw, err := os.ReadFile("../../api/v1beta1/testdata/azure.yaml")
	s.check(err)
	hc := &hyperv1.HostedCluster{}
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		if strings.Contains(document, "kind: HostedCluster\n") {
			s.check(yaml.Unmarshal([]byte(document), hc))
		}
	}
	hc.Namespace, hc.Name = "clusters", "demo"
	admin, err := os.ReadFile(s.management)
	s.check(err)
	s.check(s.client.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}}))
	s.check(s.client.Create(s.Context(), hc))
	hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: "demo-admin-kubeconfig"}
	s.check(s.client.Status().Update(s.Context(), hc))
	s.check(s.client.Create(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-admin-kubeconfig"}, Data: map[string][]byte{"kubeconfig": admin}}))
}

// hypershift runs the program here.
func (s *signing) hypershift(line string) (stdout, stderr string) {
	s.Helper()
	var out, messages bytes.Buffer
	if status := Main(strings.Fields(line), &out, &messages); status != 0 {
		s.Fatalf("%s: %d %s", line, status, messages.String())
	}
	return out.String(), messages.String()
}

// whoami is who the API server says a kubeconfig is; the server trusts the signer's certificates some moments after it was told to.
func (s *signing) whoami(kubeconfig string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 90*time.Second)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, s.kubectl, "--kubeconfig", kubeconfig, "auth", "whoami", "-o", "json").CombinedOutput()
		if err == nil {
			return string(out)
		}
		if ctx.Err() != nil {
			s.Fatalf("%v\n%s", err, out)
		}
		time.Sleep(time.Second)
	}
}

// kept are the files in which certificates are kept for kubectl.
func (s *signing) kept() (files []string) {
	s.Helper()
	s.check(filepath.WalkDir(filepath.Join(s.folder, "cache"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			s.Errorf("%s is of mode %v", path, info.Mode())
		}
		if filepath.Base(filepath.Dir(path)) == "credentials" {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// dump looks inside the hosted cluster with its administrator's kubeconfig, unless told not to.
func (s *signing) dump() {
	s.Helper()
	for flags, inside := range map[string]bool{"": true, " --guest=false": false} {
		folder := filepath.Join(s.TempDir(), "dump")
		s.hypershift("dump cluster demo --output-dir " + folder + flags)
		if _, err := os.Stat(filepath.Join(folder, "hostedcluster-demo", "cluster-scoped-resources", "core", "namespaces.yaml")); (err == nil) != inside {
			s.Errorf("dump%s: %v", flags, err)
		}
		if raw, err := os.ReadFile(filepath.Join(folder, "namespaces", "clusters", "hypershift.openshift.io", "hostedclusters.yaml")); err != nil || !strings.Contains(string(raw), "name: demo") {
			s.Errorf("dump%s: %v", flags, err)
		}
	}
}

// TestShortLivedKubeconfig: a real API server lets a person in whose kubeconfig has a certificate of an hour, or none and the plugin, as an
// administrator by their own name; nothing of the long-lived certificate is in either file.
func TestShortLivedKubeconfig(t *testing.T) {
	s := newSigning(t)
	s.plugin()
	s.dump()
	long, err := clientcmd.LoadFromFile(s.management)
	s.check(err)
	secret := long.AuthInfos["test"].ClientKeyData

	short := filepath.Join(s.folder, "short")
	_, messages := s.hypershift("kubeconfig demo --credential short-lived --duration 20m --output-file " + short)
	if !strings.Contains(messages, "clusters/demo ends at ") {
		t.Errorf("it is not said when it ends: %q", messages)
	}
	conf, err := clientcmd.LoadFromFile(short)
	s.check(err)
	user := conf.AuthInfos["clusters-demo-admin"]
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	s.check(err)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	s.check(err)
	if life := time.Until(leaf.NotAfter); life > 20*time.Minute || life < 15*time.Minute || !slices.Equal(leaf.Subject.Organization, []string{credential.Group}) || len(conf.AuthInfos) != 1 || bytes.Equal(user.ClientKeyData, secret) {
		t.Errorf("a certificate for %v, %s long, users %v", leaf.Subject, life, conf.AuthInfos)
	}
	if who := s.whoami(short); !strings.Contains(who, `"hypershift:admin"`) || !strings.Contains(who, `"`+credential.Group+`"`) || strings.Contains(who, "system:masters") {
		t.Errorf("%s", who)
	}
	out, err := exec.CommandContext(t.Context(), s.kubectl, "--kubeconfig", short, "auth", "can-i", "delete", "nodes").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "yes") {
		t.Errorf("no administrator: %v %s", err, out)
	}

	s.hypershift("kubeconfig demo --credential exec --output-file " + filepath.Join(s.folder, "exec"))
	raw, err := os.ReadFile(filepath.Join(s.folder, "exec"))
	s.check(err)
	for _, word := range []string{"client-key", "client-certificate", "token", "password"} {
		if bytes.Contains(raw, []byte(word)) {
			t.Errorf("the file has a %s:\n%s", word, raw)
		}
	}
	// What is current in kubectl's own file by then leads elsewhere.
	t.Setenv("KUBECONFIG", "/nonexistent/other")
	if len(s.kept()) != 0 {
		t.Errorf("kept before kubectl has asked: %v", s.kept())
	}
	if who := s.whoami(filepath.Join(s.folder, "exec")); !strings.Contains(who, `"hypershift:admin"`) {
		t.Errorf("%s", who)
	}
	kept := s.kept()
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	first, err := os.ReadFile(kept[0])
	s.check(err)
	s.whoami(filepath.Join(s.folder, "exec"))
	if again, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(again, first) {
		t.Errorf("a certificate that lives was not used again: %v", err)
	}

	// The plugin's own words reach whoever types kubectl.
	s.check(os.Remove(kept[0]))
	s.check(s.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-admin-kubeconfig"}}))
	out, err = exec.CommandContext(t.Context(), s.kubectl, "--kubeconfig", filepath.Join(s.folder, "exec"), "get", "nodes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "error: cannot read Secret clusters/demo-admin-kubeconfig with the kubeconfig") {
		t.Errorf("%v %s", err, out)
	}
}

// plugin: what it prints is what kubectl reads, and a person who types the command leaves nothing behind.
func (s *signing) plugin() {
	s.Helper()
	s.check(os.MkdirAll(filepath.Join(s.folder, "cache"), 0o700))
	out, _ := s.hypershift("create credential demo --duration 10m --context test")
	printed := &clientauthenticationv1.ExecCredential{}
	s.check(json.Unmarshal([]byte(out), printed))
	if printed.APIVersion != "client.authentication.k8s.io/v1" || printed.Kind != "ExecCredential" || printed.Status == nil || time.Until(printed.Status.ExpirationTimestamp.Time) > 10*time.Minute {
		s.Errorf("%s", out)
	}
	if _, err := tls.X509KeyPair([]byte(printed.Status.ClientCertificateData), []byte(printed.Status.ClientKeyData)); err != nil {
		s.Error(err)
	}
	if len(s.kept()) != 0 {
		s.Errorf("kept: %v", s.kept())
	}
	for line, want := range map[string]string{
		"create credential dmeo":                           "there is no HostedCluster clusters/dmeo; did you mean demo?",
		"create credential demo --context elsewhere":       `context "elsewhere" does not exist`,
		"create credential demo --duration 9m":             "--duration 9m0s: a short-lived certificate lives from 10m0s to 24h0m0s",
		"kubeconfig demo --credential exce":                "did you mean exec?",
		"kubeconfig demo --duration 20m":                   "--duration is for --credential short-lived and exec",
		"kubeconfig demo --credential exec --duration 25h": "a short-lived certificate lives from",
	} {
		var stdout, stderr bytes.Buffer
		if status := Main(strings.Fields(line), &stdout, &stderr); status != 1 || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			s.Errorf("%s: %d %q %q", line, status, stdout.String(), stderr.String())
		}
	}
}
