package stacks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
)

// TestStoppedServicePrincipalIsDestroyedFromItsHandoff fails after the application and its secret are made: nothing but the hand-off
// tells of them.
func TestStoppedServicePrincipalIsDestroyedFromItsHandoff(t *testing.T) {
	for _, what := range []string{"dns", "prerequisites"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			dir := t.TempDir()
			file := filepath.Join(dir, "demo.yaml")
			before := w.dump()
			_, err := w.server.Faults().Add(refused("Microsoft.Network/dnsZones/*/providers/"+assignments, 403, "AuthorizationFailed", "No."))
			must(t, err)
			create := []string{"create", what, "azure", "--dns-zone-name", "clusters." + domain, "--resource-group-name", common, "--location", location,
				"--service-principal-name", "ExternalDNS", "--external-dns-credentials", filepath.Join(dir, "azure_mgmt.json"),
				"--dns-resolver", w.server.DNSAddr(), "--handoff", file}
			if what == "prerequisites" {
				create = append(create, "--name", cluster, "--infra-id", infraID, "--base-domain", domain, "--output-dir", dir)
			}
			if status, stderr := w.command(nil, create...); status == 0 || !strings.Contains(stderr, "AuthorizationFailed") {
				t.Fatalf("exit status %d: %s", status, stderr)
			}
			if _, ok := w.dump()["apps ExternalDNS"]; !ok {
				t.Fatal("there is no application to be left behind")
			}
			if status, stderr := w.command(nil, "destroy", "dns", "azure", "--from", file); status != 0 {
				t.Fatal(stderr)
			}
			for key := range w.dump() {
				if _, ok := before[key]; !ok && (what == "dns" || strings.HasSuffix(key, " ExternalDNS")) {
					t.Errorf("%s is left", key)
				}
			}
			h, err := handoff.Read(file)
			must(t, err)
			if h.KnownDNS() != nil {
				t.Errorf("the zone is still on record: %+v", h.KnownDNS())
			}
		})
	}
}

// TestRunThatMadeNothingLeavesNoInput gives a public IP that is not there, and then none.
func TestRunThatMadeNothingLeavesNoInput(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "demo.yaml")
	keys := filepath.Join(dir, "keys")
	prerequisites := []string{"create", "prerequisites", "azure", "--name", cluster, "--infra-id", infraID, "--resource-group-name", common,
		"--output-dir", keys, "--handoff", file}
	whole := append(prerequisites, "--base-domain", domain)
	before := w.dump()
	absent := w.group("theirs") + "/providers/Microsoft.Network/publicIPAddresses/absent"
	for _, wrong := range [][]string{prerequisites, append(whole[:len(whole):len(whole)], "--dry-run"), append(whole[:len(whole):len(whole)], "--public-ip-id", absent)} {
		status, stderr := w.command(nil, wrong...)
		if dry := strings.Contains(strings.Join(wrong, " "), "--dry-run"); (status == 0) != dry {
			t.Fatalf("%v: exit status %d: %s", wrong, status, stderr)
		}
		if d := differences(before, w.dump()); d != "" {
			t.Fatalf("%v made something:\n%s", wrong, d)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%v wrote %v, %v", wrong, left, err)
		}
	}
	if status, stderr := w.command(nil, whole...); status != 0 {
		t.Errorf("without the flag: %s", stderr)
	}
}
