package phase1

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// cluster is the person who makes the hosted cluster demo in one folder, with an issuer and a hand-off file.
type cluster struct {
	shell
	*world
	c   client.Client
	dir string
}

// newCluster makes issuer, identities and infrastructure of demo in folder "demo".
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c, kubeconfig := management(t)
	root := t.TempDir()
	w := startWorld(t, root)
	dir := filepath.Join(root, "demo")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "pull-secret.json"), []byte(`{"auths":{}}`), 0o600))
	k := &cluster{shell: w.shell(t, dir, kubeconfig), world: w, c: c, dir: dir}
	k.key(dir)
	k.line("create oidc-issuer azure --name demo --resource-group-name common --handoff demo.yaml")
	k.line("create iam azure --infra-id demo-1 --handoff demo.yaml")
	k.line("create infra azure --base-domain example.com --assign-identity-roles --handoff demo.yaml")
	return k
}

// key makes a signing key in a folder, so that no test waits for one of full size.
func (k *cluster) key(dir string) {
	k.t.Helper()
	raw, err := newSigner()
	must(k.t, err)
	must(k.t, os.WriteFile(filepath.Join(dir, "serviceaccount-signer.private"), raw, 0o600))
}

func (k *cluster) words(line string) []string {
	return append(append([]string{"hypershift"}, strings.Fields(line)...), "--azure-creds", k.credentials)
}

func (k *cluster) line(line string) (stdout, stderr string) {
	k.t.Helper()
	return k.run(k.words(line)...)
}

// refused types a line that has to fail, and returns what it says.
func (k *cluster) refused(line string) string {
	k.t.Helper()
	_, stderr, err := k.try(k.words(line)...)
	if err == nil {
		k.t.Errorf("%s: succeeds, and says\n%s", line, stderr)
	}
	return stderr
}

func (k *cluster) get(name string, obj client.Object) {
	k.t.Helper()
	must(k.t, k.c.Get(k.t.Context(), client.ObjectKey{Namespace: "clusters", Name: name}, obj))
}

func (k *cluster) patch(obj client.Object, patch string) {
	k.t.Helper()
	must(k.t, k.c.Patch(k.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func (k *cluster) says(what, text string, wants ...string) {
	k.t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			k.t.Errorf("%s: %q is missing in\n%s", what, want, text)
		}
	}
}

// versions are the resource versions of what a run that changes nothing must not touch.
func (k *cluster) versions() string {
	k.t.Helper()
	hc, np := &hyperv1.HostedCluster{}, &hyperv1.NodePool{}
	k.get("demo", hc)
	k.get("demo", np)
	out := hc.ResourceVersion + " " + np.ResourceVersion
	for _, name := range []string{"demo-pull-secret", "demo-ssh-key", "demosa-token-issuer-key", "demo-etcd-encryption-key"} {
		secret := &corev1.Secret{}
		k.get(name, secret)
		out += " " + secret.ResourceVersion
	}
	return out
}

const (
	createDemo = "create cluster azure --from demo.yaml --pull-secret pull-secret.json --release-image quay.io/ocp:4.21 "
	withNodes  = "--node-pool-replicas 2 --generate-ssh "
)

// TestALiveClusterStays runs create cluster again for a cluster that was upgraded and scaled: nothing of it changes, whatever the flags
// say, and what they say is told with the command for it.
func TestALiveClusterStays(t *testing.T) {
	k := newCluster(t)
	_, first := k.line(createDemo + withNodes)
	k.says("the first run", first, "next: kubectl -n clusters wait hostedcluster/demo", "hypershift create kubeconfig demo")

	before := k.versions()
	if _, again := k.line(createDemo + withNodes); strings.Contains(again, "asks for") {
		t.Errorf("the same command finds a difference:\n%s", again)
	}
	k.unchanged("the same command", before)

	hc, np := &hyperv1.HostedCluster{}, &hyperv1.NodePool{}
	k.get("demo", hc)
	k.get("demo", np)
	k.patch(hc, `{"spec":{"release":{"image":"quay.io/ocp:4.22"}}}`)
	k.patch(np, `{"spec":{"replicas":3,"release":{"image":"quay.io/ocp:4.22"}}}`)
	before = k.versions()

	// The same command: somebody has changed the cluster since. It succeeds, tells that, and leaves the rest alone.
	_, again := k.line(createDemo + withNodes)
	k.says("the same command after an upgrade", again, "spec.release.image: there is quay.io/ocp:4.22, --release-image asks for quay.io/ocp:4.21, as it did before",
		`kubectl -n clusters patch hostedcluster demo --type merge -p '{"spec":{"release":{"image":"quay.io/ocp:4.21"}}}'`,
		"spec.replicas: there is 3", "kubectl -n clusters scale nodepool/demo --replicas=2")
	_, planned := k.line(createDemo + withNodes + "--dry-run")
	k.says("its dry run", planned, "spec.release.image: there is quay.io/ocp:4.22", "spec.replicas: there is 3")

	// Without the flags: defaults, and a key that is not asked for, are nobody's wish.
	if _, short := k.line("create cluster azure --from demo.yaml --pull-secret pull-secret.json --release-image quay.io/ocp:4.22"); strings.Contains(short, "replicas") || strings.Contains(short, "sshKey") {
		t.Errorf("defaults count as wishes:\n%s", short)
	}

	// A new wish is refused, with nothing changed.
	for _, dry := range []string{"", " --dry-run"} {
		message := k.refused("create cluster azure --from demo.yaml --pull-secret pull-secret.json --release-image quay.io/ocp:4.23 --node-pool-replicas 5 --base-domain example.org" + dry)
		k.says("another wish"+dry, message, "exists and nothing was changed", "--node-pool-replicas", "--release-image", "scale nodepool/demo --replicas=5", "spec.dns.baseDomain", "it cannot be changed in a cluster that exists")
	}
	must(t, os.WriteFile(filepath.Join(k.dir, "other.json"), []byte(`{"auths":{"quay.io":{}}}`), 0o600))
	k.says("another pull secret", k.refused("create cluster azure --from demo.yaml --pull-secret other.json --release-image quay.io/ocp:4.22"),
		"Secret clusters/demo-pull-secret, .dockerconfigjson: there is another content", "--from-file=.dockerconfigjson=other.json")
	k.unchanged("what asks for something else", before)

	// What is missing is made, as the cluster is now.
	must(t, k.c.Delete(t.Context(), np))
	upgraded := strings.Replace(createDemo, "4.21", "4.22", 1) + withNodes
	plan, _ := k.line(upgraded + "--dry-run -o json")
	k.says("the plan", plan, `"action": "keep"`, `"action": "create"`)
	stdout, _ := k.line(upgraded + "-o json")
	k.says("the result", stdout, `"infraID": "demo-1"`, `"kind": "NodePool"`, `"action": "created"`)
	k.get("demo", np)
	if np.Spec.Release.Image != "quay.io/ocp:4.22" || *np.Spec.Replicas != 2 {
		t.Errorf("the node pool that was missing is %+v", np.Spec)
	}

	// A new key could read nothing that the lost one has written.
	secret := &corev1.Secret{}
	k.get("demo-etcd-encryption-key", secret)
	must(t, k.c.Delete(t.Context(), secret))
	k.says("a lost encryption key", k.refused(upgraded), "bring it back from a backup")
	if err := k.c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("another encryption key was made: %v", err)
	}
}

func (k *cluster) unchanged(what, before string) {
	k.t.Helper()
	if after := k.versions(); after != before {
		k.t.Errorf("%s changes something: %s, before %s", what, after, before)
	}
}

// TestTheSigningKeyIsTheIssuers creates and rotates from the folder of another cluster, in which a key of the same name lies: the paths
// of the hand-off file lead to its own folder, and no key that the issuer does not publish reaches a cluster.
func TestTheSigningKeyIsTheIssuers(t *testing.T) {
	k := newCluster(t)
	other := filepath.Join(filepath.Dir(k.dir), "other")
	must(t, os.Mkdir(other, 0o755))
	k.key(other)
	own, wrong := mustRead(t, filepath.Join(k.dir, "serviceaccount-signer.private")), mustRead(t, filepath.Join(other, "serviceaccount-signer.private"))
	must(t, os.WriteFile(filepath.Join(other, "pull-secret.json"), []byte(`{"auths":{}}`), 0o600))
	k.shell.dir = other

	// Flags that name a key which is not published: nothing is written.
	flags := "create cluster azure --from ../demo/demo.yaml --pull-secret pull-secret.json --release-image quay.io/ocp:4.21 "
	for _, dry := range []string{"", " --dry-run"} {
		k.says("another key"+dry, k.refused(flags+"--sa-token-issuer-private-key-path serviceaccount-signer.private"+dry), "does not publish", "AADSTS700027", "rotate oidc-issuer azure")
	}
	if err := k.c.Get(t.Context(), client.ObjectKey{Name: "clusters"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("something was written before the key was refused: %v", err)
	}

	k.line(flags + "--node-pool-replicas 0 --generate-ssh")
	secret := &corev1.Secret{}
	k.get("demosa-token-issuer-key", secret)
	if string(secret.Data["key"]) != string(own) {
		t.Fatalf("the cluster has the key of the current folder: %v", string(secret.Data["key"]) == string(wrong))
	}
	before := k.versions()
	k.refused(flags + "--sa-token-issuer-private-key-path serviceaccount-signer.private")
	k.line(flags)
	k.unchanged("a run in the other folder", before)

	// The other commands find the same files.
	checks, _, _ := k.try(k.words("verify azure --from ../demo/demo.yaml")...)
	k.says("verify", strings.Join(strings.Fields(checks), " "), "pass issuer published key")
	k.line("rotate oidc-issuer azure --from ../demo/demo.yaml --update-cluster --no-wait")
	if now := mustRead(t, filepath.Join(other, "serviceaccount-signer.private")); string(now) != string(wrong) {
		t.Error("rotate has changed the key of the other folder")
	}
	// While both keys are published, and afterwards, the same command goes on.
	k.line(flags)
}
