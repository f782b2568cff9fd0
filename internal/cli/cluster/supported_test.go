package cluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// createsCluster renders with an infrastructure that is only looked at.
func createsCluster(t *testing.T, line []string) clitest.Made {
	t.Helper()
	return createsClusterOf(t, clitest.Releases{}, line)
}

func createsClusterOf(t *testing.T, releases clitest.Releases, line []string) clitest.Made {
	t.Helper()
	var out clitest.Made
	cmd := NewCreateAzureCommand(func(ctx context.Context, s *azure.Session, o infra.Options, say func(stack.Event)) (*infra.Output, error) {
		out.Infra = &o
		return clitest.Infra(ctx, s, o, say)
	}, releases, nil)
	var objects, messages bytes.Buffer
	cmd.SetOut(&objects)
	cmd.SetErr(&messages)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(append(clitest.Inputs(t), "--name", "demo", "--infra-id", "demo-x1", "--render-sensitive"), line...))
	out.Err = cmd.ExecuteContext(t.Context())
	// The key that encrypts is another one each time.
	out.Objects = regexp.MustCompile(`(?m)^  key: .*$`).ReplaceAllString(objects.String(), "")
	out.Messages = messages.String()
	return out
}

// What the table says of the flags of create cluster azure is so.
func TestFlagsAct(t *testing.T) { clitest.FlagsAct(t, "create cluster azure", createsCluster) }

func TestFlagsAreRefused(t *testing.T) {
	clitest.FlagsAreRefused(t, "create cluster azure", createsCluster)
}

// What is rendered for infrastructure that is there may be for another operator: it is warned of.
func TestRenderingForAnotherOperatorIsWarnedOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "infra.yaml")
	infra := `{"baseDomain":"example.com","region":"westus","infraID":"demo-x1","resourceGroupName":"rg","securityGroupID":"NSG","vnetID":"V","subnetID":"S"}`
	if err := os.WriteFile(file, []byte(infra), 0o600); err != nil {
		t.Fatal(err)
	}
	got := createsCluster(t, []string{"--infra-json", file, "--fips"})
	if got.Err != nil || !strings.Contains(got.Objects, "fips: true") || !strings.Contains(got.Messages, "warning: unless the payload, which is not read here, has image machine-config-operator, the operator will refuse --fips") {
		t.Errorf("%v, messages %q", got.Err, got.Messages)
	}
	got = createsCluster(t, []string{"--infra-json", file, "--network-type", "OpenShiftSDN"})
	if got.Err != nil || !strings.Contains(got.Objects, "OpenShiftSDN") || !strings.Contains(got.Messages, "warning: this version's operator will refuse") {
		t.Errorf("%v, messages %q", got.Err, got.Messages)
	}
}

// What a payload of OpenShift has programs for is made, and nobody is warned of it.
func TestPayloadsOfOpenShiftTakeMore(t *testing.T) {
	images := map[string]string{}
	for _, key := range []string{"machine-config-operator", "cluster-config-api", "cluster-network-operator", "oauth-server", "operator-lifecycle-manager", "cluster-version-operator"} {
		images[key] = "quay.io/x/" + key
	}
	flags := []string{"--fips", "--feature-set", "TechPreviewNoUpgrade", "--network-type", "OVNKubernetes", "--ovn-kubernetes-mtu", "1300",
		"--oauth-publishing-strategy", "LoadBalancer", "--olm-catalog-placement", "guest", "--enable-cluster-capabilities", "baremetal", "--olm-disable-default-sources"}
	got := createsClusterOf(t, clitest.Releases{Images: images}, flags)
	if got.Err != nil || !strings.Contains(got.Objects, "fips: true") || !strings.Contains(got.Objects, "mtu: 1300") || strings.Contains(got.Messages, "warning: --") {
		t.Errorf("%v, messages %q", got.Err, got.Messages)
	}
}

// The image of a plan is bought once in a subscription: the command to type is told, with the subscription in it.
func TestTermsOfThePlanAreTold(t *testing.T) {
	image := []string{"--marketplace-publisher", "pub", "--marketplace-offer", "o", "--marketplace-sku", "s", "--marketplace-version", "1.2.3"}
	const command = "az vm image terms accept --publisher pub --offer o --plan s --subscription " + clitest.UUID
	if got := createsCluster(t, append(image, "--marketplace-purchase-plan")); got.Err != nil || !strings.Contains(got.Messages, command) {
		t.Errorf("%v, messages %q", got.Err, got.Messages)
	}
	if got := createsCluster(t, image); got.Err != nil || strings.Contains(got.Messages, "terms") {
		t.Errorf("%v, messages %q", got.Err, got.Messages)
	}
}

// Flags whose effect is not in what is made.
func TestFlagsWithoutManifest(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent/kubeconfig")
	file := filepath.Join(t.TempDir(), "out.yaml")
	base := append(clitest.Inputs(t), "--name", "demo")
	if _, err := createCluster(append(base, "--render-into", file)...); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "kind: HostedCluster") {
		t.Errorf("--render-into wrote %q, %v", text, err)
	}
	for _, line := range []string{"--render --version-check", "--render --release-stream 4-stable-multi --release-image=", "--wait --timeout 1ns"} {
		plain := base
		if strings.Contains(line, "stream") {
			plain = withoutFlag(base, "--release-image")
			line = strings.TrimSuffix(line, " --release-image=")
		}
		if _, err := createCluster(append(plain, strings.Fields(line)...)...); err == nil || !strings.Contains(err.Error(), "/nonexistent/kubeconfig") {
			t.Errorf("%s: %v, want a question to the management cluster", line, err)
		}
	}
}

func withoutFlag(words []string, flag string) []string {
	for i, word := range words {
		if word == flag {
			return append(append([]string{}, words[:i]...), words[i+2:]...)
		}
	}
	return words
}
