// Package firewall is what the sandbox and its management cluster have in the machine's packet filter.
package firewall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/nftable"
)

// ourTables are the nftables tables that programs of the cluster make. Those
// of iptables are in the list because its nftables variant makes them too.
var ourTables = func() []string {
	tables := []string{"inet cni_plugins_masquerade", "inet cni_hostport"}
	for _, family := range []string{"ip", "ip6"} {
		for _, name := range []string{"kube-proxy", "nat", "filter", "mangle", "raw"} {
			tables = append(tables, family+" "+name)
		}
	}
	return tables
}()

// Tables lists the tables of nftables, as "family name". The library of package nftable sees one table, which it is told.
func Tables(ctx context.Context) []string {
	output, err := exec.CommandContext(ctx, "nft", "list", "tables").Output()
	if err != nil {
		return nil // no nft: nothing was made with it
	}
	var tables []string
	for line := range strings.Lines(string(output)) {
		if table, ok := strings.CutPrefix(strings.TrimSpace(line), "table "); ok {
			tables = append(tables, table)
		}
	}
	return tables
}

// Clean removes the chains of kubelet, kube-proxy and network plugins, the table that keeps strangers out, and other tables.
func Clean(ctx context.Context, others ...string) error {
	var problems []error
	for _, command := range []string{"iptables", "ip6tables"} {
		problems = append(problems, cleanIPTables(ctx, command))
	}
	ours := slices.DeleteFunc(Tables(ctx), func(table string) bool {
		return !slices.Contains(others, table) && table != strangersTable && !strings.HasSuffix(table, " kube-proxy") && !strings.Contains(table, " cni_")
	})
	return errors.Join(append(problems, nftable.Remove(ctx, ours...))...)
}

// DropNew deletes the tables that were not there before, if they hold no
// rule.
func DropNew(ctx context.Context, before []string) error {
	var empty []string
	for _, table := range Tables(ctx) {
		if slices.Contains(before, table) || !slices.Contains(ourTables, table) {
			continue
		}
		family, name, _ := strings.Cut(table, " ")
		content, err := exec.CommandContext(ctx, "nft", "list", "table", family, name).Output()
		if err == nil && !hasRules(string(content)) {
			empty = append(empty, table)
		}
	}
	return nftable.Remove(ctx, empty...)
}

// hasRules tells whether a listing of a table has more than empty chains.
func hasRules(listing string) bool {
	for line := range strings.Lines(listing) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line == "}", strings.HasPrefix(line, "table "), strings.HasPrefix(line, "chain "),
			strings.HasPrefix(line, "type "), strings.HasPrefix(line, "#"):
		default:
			return true
		}
	}
	return false
}

func ourChain(name string) bool {
	return strings.HasPrefix(name, "KUBE-") || strings.HasPrefix(name, "CNI-")
}

// cleanIPTables removes our chains in one transaction for each table.
func cleanIPTables(ctx context.Context, command string) error {
	saved, err := exec.CommandContext(ctx, command+"-save").Output()
	if err != nil {
		return nil // the command is not there: nothing was made with it
	}
	script := cleanupScript(string(saved))
	if script == "" {
		return nil
	}
	restore := exec.CommandContext(ctx, command+"-restore", "--noflush")
	restore.Stdin = strings.NewReader(script)
	var output bytes.Buffer
	restore.Stdout, restore.Stderr = &output, &output
	if err := restore.Run(); err != nil {
		return fmt.Errorf("%s-restore: %w: %s", command, err, output.String())
	}
	return nil
}

// cleanupScript turns the output of iptables-save into the input of
// iptables-restore that removes our chains and the jumps to them.
func cleanupScript(saved string) string {
	var script strings.Builder
	var jumps, flushes, deletes []string
	table := ""
	finish := func() {
		if len(jumps)+len(deletes) > 0 {
			lines := slices.Concat([]string{"*" + table}, jumps, flushes, deletes, []string{"COMMIT"})
			script.WriteString(strings.Join(lines, "\n") + "\n")
		}
		jumps, flushes, deletes = nil, nil, nil
	}
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			table = line[1:]
		case line == "COMMIT":
			finish()
		case strings.HasPrefix(line, ":"):
			name, _, _ := strings.Cut(line[1:], " ")
			if ourChain(name) {
				flushes = append(flushes, "-F "+name)
				deletes = append(deletes, "-X "+name)
			}
		case strings.HasPrefix(line, "-A "):
			chain, _, _ := strings.Cut(line[3:], " ")
			_, jump, found := strings.Cut(line, " -j ")
			if found && !ourChain(chain) && ourChain(jump) {
				jumps = append(jumps, "-D "+line[3:])
			}
		}
	}
	return script.String()
}
