// Command commandline measures what the program costs whoever types it: how long what needs no cluster takes, and how large it is. Each command
// runs many times, in turn, and its median counts. hack/bench.sh calls it.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

// mostMegabytes is what the program may take of a disk.
const mostMegabytes = 60

// runs of each command.
const runs = 21

// measured are the commands, and what each may take.
var measured = []struct {
	line string
	most time.Duration
}{
	{"--help", 30 * time.Millisecond},
	{"version --client-only", 30 * time.Millisecond},
	{"create cluster azure --name demo --infra-id demo-x1 --azure-creds creds.json --pull-secret pull.json --workload-identities-file identities.json " +
		"--base-domain example.com --release-image quay.io/release:1 --node-pool-replicas 1 --infra-json infra.json --render", 70 * time.Millisecond},
}

func main() {
	program := flag.String("hypershift", "bin/hypershift", "the program")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *program); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	dir, err := os.MkdirTemp("", "commandline-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := write(dir); err != nil {
		return err
	}
	took := make([][]time.Duration, len(measured))
	for range runs {
		for i := range measured {
			one, err := once(ctx, dir, program, strings.Fields(measured[i].line))
			if err != nil {
				return err
			}
			took[i] = append(took[i], one)
		}
	}
	l := &limits.Limits{}
	for i, m := range measured {
		slices.Sort(took[i])
		l.Hold("hypershift "+first(m.line)+", ms", float64(took[i][runs/2])/float64(time.Millisecond), float64(m.most.Milliseconds()), "")
	}
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("measure the program: %w", err)
	}
	l.Hold("size of hypershift, MB", float64(info.Size())/1e6, mostMegabytes, "")
	return l.Err()
}

// first are the words before the flags' values, for the table.
func first(line string) string {
	words := strings.Fields(line)
	if len(words) > 3 {
		words = []string{words[0], words[1], words[2], words[len(words)-1]}
	}
	return strings.Join(words, " ")
}

func once(ctx context.Context, dir, program string, words []string) (time.Duration, error) {
	command := exec.CommandContext(ctx, program, words...)
	var said bytes.Buffer
	command.Dir, command.Stderr = dir, &said
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	begin := time.Now()
	out, err := command.Output()
	took := time.Since(begin)
	if err != nil || len(out) == 0 {
		return 0, fmt.Errorf("hypershift %s: %w, %d bytes on stdout, and on stderr: %s", strings.Join(words, " "), err, len(out), said.String())
	}
	return took, nil
}

// write makes the files that a cluster is rendered from.
func write(dir string) error {
	const id = "11111111-2222-4333-8444-555555555555"
	var identities []string
	for _, name := range []string{"imageRegistry", "ingress", "file", "disk", "nodePoolManagement", "cloudProvider", "network"} {
		identities = append(identities, fmt.Sprintf("%q:{\"clientID\":%q}", name, id))
	}
	for name, content := range map[string]string{
		"identities.json": "{" + strings.Join(identities, ",") + "}",
		"creds.json":      fmt.Sprintf(`{"subscriptionId":%[1]q,"tenantId":%[1]q,"clientId":%[1]q,"clientSecret":"none"}`, id),
		"pull.json":       `{"auths":{}}`,
		"infra.json":      `{"baseDomain":"example.com","region":"westus","infraID":"demo-x1","resourceGroupName":"rg","securityGroupID":"NSG","vnetID":"V","subnetID":"S"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
