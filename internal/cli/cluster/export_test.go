package cluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/export"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// ownInfra is infrastructure with the names that our stack gives, or what the options bring.
func ownInfra(ctx context.Context, s *azure.Session, o infra.Options, _ func(stack.Event)) (*infra.Output, error) {
	out := infra.Expected(s, o)
	out.PublicZoneID = ""
	return out, ctx.Err()
}

// rendered are the objects of a command line.
func rendered(t *testing.T, args ...string) string {
	t.Helper()
	out, messages, err := typedAt(t, NewCreateAzureCommand(ownInfra, clitest.Releases{}, nil), append(args, "--render-sensitive")...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, messages)
	}
	return regexp.MustCompile(`(?m)^  key: .*$`).ReplaceAllString(out, "")
}

// objectsOf are the HostedCluster and the node pools of a rendering.
func objectsOf(t *testing.T, text string) []client.Object {
	t.Helper()
	var out []client.Object
	for _, document := range strings.Split(text, "\n---\n") {
		for kind, object := range map[string]client.Object{"HostedCluster": &hyperv1.HostedCluster{}, "NodePool": &hyperv1.NodePool{}} {
			if !strings.Contains(document, "\nkind: "+kind+"\n") {
				continue
			}
			if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(document)), 4096).Decode(object); err != nil {
				t.Fatal(err)
			}
			out = append(out, object)
		}
	}
	return out
}

const everything = "--name demo --namespace other --infra-id demo-x --location westus --base-domain-prefix own --external-dns-domain ext.example.org --control-plane-availability-policy HighlyAvailable --infra-availability-policy SingleReplica " +
	"--kas-dns-name api.example.org --node-selector a=b,c=d --pods-labels e=f --labels team=a --annotations example.com/a=b --additional-tags team=blue,cost=1 --control-plane-operator-image quay.io/o/o:1 --toleration key=a,operator=Exists,effect=NoExecute,tolerationSeconds=3 " +
	"--etcd-storage-class fast --etcd-storage-size 9Gi --cluster-cidr 10.200.0.0/16 --service-cidr 10.201.0.0/16 --machine-cidr 10.7.0.0/16 --network-type Other --disable-multi-network --allocate-node-cidrs " +
	"--oidc-issuer-url https://issuer.example.com/x --disable-cluster-capabilities ImageRegistry --pausedUntil true --olm-disable-default-sources --olm-catalog-placement guest " +
	"--arch arm64 --auto-repair --instance-type Standard_D8ps_v5 --root-disk-size 64 --disk-storage-account-type StandardSSD_LRS --disk-encryption-set-id /subscriptions/s/set --enable-ephemeral-disk --encryption-at-host Enabled " +
	"--diagnostics-storage-account-type UserManaged --diagnostics-storage-account-uri https://a.example.com/ --image-generation Gen2 --marketplace-publisher pub --marketplace-offer o --marketplace-sku s --marketplace-version 1.2.3 --marketplace-purchase-plan " +
	"--node-drain-timeout 3m --node-volume-detach-timeout 4m --availability-zones 1,3 --node-pool-replicas 3"

// What is exported makes the same cluster again.
func TestExportMakesTheSameAgain(t *testing.T) {
	inputs := clitest.Inputs(t)
	files, release := inputs[:6], []string{"--base-domain", "example.com", "--release-image", "quay.io/release:1"}
	for _, line := range []string{"--name demo --infra-id demo-x --node-pool-replicas 2", "--name demo --infra-id demo-x --node-pool-replicas -1", "--name demo --infra-id demo-x --node-pool-replicas 0 --availability-zone 2 --base-domain-prefix none", everything,
		"--name demo --infra-id demo-x --resource-group-name rg --vnet-id " + clitest.VNet + " --subnet-id " + clitest.VNet + "/subnets/default"} {
		typed := append(append([]string{}, files...), release...)
		want := rendered(t, append(typed, strings.Fields(line)...)...)
		objects := objectsOf(t, want)
		namespace := "clusters"
		if strings.Contains(line, "--namespace other") {
			namespace = "other"
		}
		found, err := export.Of(t.Context(), clitest.Client(objects...), client.ObjectKey{Namespace: namespace, Name: "demo"}, ForExport())
		if err != nil {
			t.Fatal(err)
		}
		text := found.File
		if len(found.Unsaid) > 0 {
			t.Errorf("%s: the file does not say %q", line, found.Unsaid)
		}
		path := filepath.Join(t.TempDir(), "demo.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := rendered(t, append(append([]string{}, files...), "--file", path)...); got != want {
			t.Errorf("%s: the file makes something else:\n%s\n%s", line, text, firstDifference(want, got))
		}
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return "want " + as[i] + "\ngot  " + bs[i]
		}
	}
	return "one ends before the other"
}

// --file is as if it were typed: what is typed beside it wins, what excludes it is refused, and the dry run says where each value is from.
func TestFileIsAsIfTyped(t *testing.T) {
	inputs := clitest.Inputs(t)
	path := filepath.Join(t.TempDir(), "demo.yaml")
	write := func(spec string) {
		text := "apiVersion: cli.hypershift.openshift.io/v1\nkind: AzureCluster\nspec: {name: demo, infra-id: demo-x, location: westus, pull-secret: " + inputs[3] + spec + "}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	without := append(append([]string{}, inputs[:2]...), inputs[4:]...)
	write(", node-drain-timeout: 3m")
	if got, want := rendered(t, append(without, "--file", path)...), rendered(t, append(inputs, strings.Fields("--name demo --infra-id demo-x --location westus --node-drain-timeout 3m")...)...); got != want {
		t.Error(firstDifference(want, got))
	}
	if got := rendered(t, append(without, "--file", path, "--location", "northeurope")...); !strings.Contains(got, "location: northeurope") {
		t.Error("the flag does not win")
	}
	for spec, refusal := range map[string]string{", release-stream: 4-stable": "release-image release-stream", ", root-disk-size: 8": "--root-disk-size", ", wait: true": "no member spec.wait"} {
		write(spec)
		for _, cmd := range []string{"create", "preflight"} {
			look := NewCreateAzureCommand(ownInfra, clitest.Releases{}, nil)
			if cmd == "preflight" {
				look = NewPreflightClusterCommand(nil, clitest.Releases{})
			}
			if _, _, err := typedAt(t, look, append(without, "--file", path)...); err == nil || !strings.Contains(err.Error(), refusal) {
				t.Errorf("%s, %s: %v", cmd, spec, err)
			}
		}
	}
}

// --namespace and --output-file of export cluster; --kubeconfig is that of every command.
func TestExportFlags(t *testing.T) {
	cmd := export.NewCommand(ForExport())
	for _, line := range []string{"demo --namespace other --output-file absent/demo.yaml", "demo --output-file " + t.TempDir()} {
		if _, _, err := typedAt(t, cmd, strings.Fields(line)...); err == nil || !strings.Contains(err.Error(), "--output-file") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := export.Of(t.Context(), clitest.Client(), client.ObjectKey{Namespace: "other", Name: "demo"}, ForExport()); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("%v", err)
	}
	found, err := export.Of(t.Context(), clitest.Client(clitest.HostedCluster("demo", false)), client.ObjectKey{Namespace: "clusters", Name: "demo"}, ForExport())
	if err != nil || !strings.Contains(string(found.File), "#   azure-creds: the file with the credentials") {
		t.Errorf("%v\n%+v", err, found)
	}
}
