package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/interview"
)

// inFile writes a file of a folder of the test's own.
func inFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// originsOf are the rows that --dry-run prints of a command line.
func originsOf(t *testing.T, answers string, args ...string) string {
	t.Helper()
	said, record, cmd := &typed{}, &azureflags.HandoffFile{}, &cobra.Command{Use: "azure"}
	said.define(cmd, record)
	cmd.SetContext(t.Context())
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	c := &creation{cmd: cmd, record: record}
	if err := c.fill(said.file); err != nil {
		t.Fatal(err)
	}
	if answers != "" {
		c.who = interview.Answering(strings.NewReader(answers))
		if err := c.ask(said); err != nil {
			t.Fatal(err)
		}
	}
	complete, err := c.complete(*said)
	if err != nil {
		t.Fatal(err)
	}
	r := resolved{typed: complete, cluster: complete.cluster, infra: complete.infra}
	r.session = &azure.Session{Credentials: azure.Credentials{SubscriptionID: clitest.UUID, TenantID: clitest.UUID}}
	if r.infra.InfraID == "" {
		r.infra.InfraID = "demo-abc"
	}
	if err := c.tellOrigins(r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// wantRows looks for rows of name, value and origin.
func wantRows(t *testing.T, table string, rows ...[3]string) {
	t.Helper()
	for _, row := range rows {
		line := `(?m)^` + row[0] + ` +` + regexp.QuoteMeta(row[1]) + ` +` + regexp.QuoteMeta(row[2]) + `$`
		if !regexp.MustCompile(line).MatchString(table) {
			t.Errorf("%v is missing in\n%s", row, table)
		}
	}
}

const aFile = "apiVersion: cli.hypershift.openshift.io/v1\nkind: AzureCluster\nspec: {name: demo, node-pool-replicas: 2}\n"

// Where a value comes from: a flag, the file, a default, whatever that is; or it is made up.
func TestOriginsOfFlagsAndFile(t *testing.T) {
	file := inFile(t, "demo.yaml", aFile)
	wantRows(t, originsOf(t, "", "--location", "westus", "--file", file, "--azure-creds", "creds.json"),
		[3]string{"name", "demo", file}, [3]string{"node-pool-replicas", "2", file}, [3]string{"location", "westus", "flag"},
		[3]string{"root-disk-size", "120", "default"}, [3]string{"fips", "false", "default"}, [3]string{"node-drain-timeout", "0s", "default"},
		[3]string{"ssh-key", "-", "default"}, [3]string{"node-selector", "[]", "default"}, [3]string{"infra-id", "demo-abc", "made up"},
		[3]string{"subscription", clitest.UUID, "creds.json"}, [3]string{"tenant", clitest.UUID, "creds.json"})
}

// What --interactive asks for, or finds, is no flag that was typed.
func TestOriginsOfAnswers(t *testing.T) {
	prepared(t)
	file := inFile(t, "demo.yaml", strings.Replace(aFile, "name: demo, ", "", 1))
	wantRows(t, originsOf(t, "answered\n", "--interactive", "--file", file, "--base-domain", "typed.example.com"),
		[3]string{"name", "answered", "asked"}, [3]string{"release-image", "quay.io/release:7", "$RELEASE_IMAGE"},
		[3]string{"workload-identities-file", "workload-identities.json", "in this folder"},
		[3]string{"base-domain", "typed.example.com", "flag"}, [3]string{"node-pool-replicas", "2", file})
}

const handoffHead = "apiVersion: handoff.hypershift.openshift.io/v1\nkind: Handoff\nname: demo\ninfraID: demo-x\n" +
	"cloud: AzurePublicCloud\nlocation: westus\nsubscriptionID: " + clitest.UUID + "\ntenantID: " + clitest.UUID + "\n" +
	"issuer: {url: \"https://issuer.example.com\", privateKeyPath: key}\n"

func handedIdentities() string {
	var members []string
	for _, name := range []string{"imageRegistry", "ingress", "file", "disk", "nodePoolManagement", "cloudProvider", "network"} {
		members = append(members, name+": {clientID: "+clitest.UUID+"}")
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// What the hand-off file says, and flags do not, comes from it: complete infrastructure even where flags say something else.
func TestOriginsOfTheHandoff(t *testing.T) {
	h := inFile(t, "handoff.yaml", handoffHead+"identities: {clients: "+handedIdentities()+"}\n"+
		"infra: {baseDomain: example.com, region: westus, infraID: demo-x, resourceGroupName: group, vnetID: V, subnetID: S, "+
		"securityGroupID: G, privateZoneID: Z}\n")
	rows := originsOf(t, "", "--from", h, "--azure-creds", "creds.json", "--vnet-id", "typed", "--name", "demo")
	wantRows(t, rows, [3]string{"name", "demo", "flag"}, [3]string{"location", "westus", h}, [3]string{"cloud", "AzurePublicCloud", h},
		[3]string{"infra-id", "demo-x", h}, [3]string{"oidc-issuer-url", "https://issuer.example.com", h},
		[3]string{"base-domain", "example.com", h},
		[3]string{"sa-token-issuer-private-key-path", filepath.Join(filepath.Dir(h), "key"), h}, [3]string{"infra-json", h, h},
		[3]string{"resource-group-name", "group", h}, [3]string{"vnet-id", "V", h}, [3]string{"subnet-id", "S", h},
		[3]string{"network-security-group-id", "G", h}, [3]string{"private-dns-zone-id", "Z", h},
		[3]string{"workload-identities-file", "identities.clients", h}, [3]string{"subscription", clitest.UUID, h},
		[3]string{"tenant", clitest.UUID, h}, [3]string{"root-disk-size", "120", "default"})
}

// Infrastructure that is under way is gone on with, and the identities that a flag names are used in place of those handed over.
func TestOriginsOfInfrastructureUnderWay(t *testing.T) {
	h := inFile(t, "handoff.yaml", handoffHead+"identities: {clients: "+handedIdentities()+"}\n"+
		"infraUnderWay: {baseDomain: example.com, infraID: demo-x, resourceGroupName: theirs, vnetID: V, subnetID: S}\n"+
		"brought: {publicIPID: IP}\n")
	rows := originsOf(t, "", "--from", h, "--workload-identities-file", "mine.json", "--location", "westus")
	wantRows(t, rows, [3]string{"resource-group-name", "theirs", h}, [3]string{"vnet-id", "V", h}, [3]string{"subnet-id", "S", h},
		[3]string{"public-ip-id", "IP", h}, [3]string{"workload-identities-file", "mine.json", "flag"}, [3]string{"location", "westus", "flag"},
		[3]string{"infra-json", "-", "default"})
}

// A file of infrastructure says the same as complete infrastructure of a hand-off.
func TestOriginsOfInfraJSON(t *testing.T) {
	file := inFile(t, "infra.yaml", "{baseDomain: example.com, region: northeurope, infraID: demo-y, resourceGroupName: group, "+
		"vnetID: V, subnetID: S, workloadIdentities: "+handedIdentities()+"}")
	wantRows(t, originsOf(t, "", "--infra-json", file, "--base-domain", "typed.example.com", "--infra-id", "demo-y"),
		[3]string{"infra-json", file, "flag"}, [3]string{"location", "northeurope", file}, [3]string{"base-domain", "example.com", file},
		[3]string{"infra-id", "demo-y", "flag"}, [3]string{"workload-identities-file", "workloadIdentities", file})
}
