package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/compute"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

// machine is the largest document that clients send often.
const machine = `{"location":"eastus","zones":["1"],"tags":{"a":"b"},"identity":{"type":"UserAssigned","userAssignedIdentities":{"/x":{}}},
"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v5"},
"storageProfile":{"imageReference":{"publisher":"p","offer":"o","sku":"s","version":"latest"},
"osDisk":{"name":"os","osType":"Linux","createOption":"FromImage","diskSizeGB":64,"managedDisk":{"storageAccountType":"Premium_LRS"}}},
"osProfile":{"computerName":"n","adminUsername":"u","customData":"eA==",
"linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"path":"p","keyData":"k"}]}}},
"networkProfile":{"networkInterfaces":[{"id":"/nic","properties":{"primary":true}}]},"diagnosticsProfile":{"bootDiagnostics":{"enabled":true}}}}`

// strictness is what the strict embedded Azure costs: the check of one request and its answer, and the program at rest.
type strictness struct {
	check    time.Duration
	start    side
	resident float64 // MiB
}

func (s *strictness) measure(ctx context.Context, program string, rounds int) error {
	var err error
	if s.check, err = timeCheck(); err != nil {
		return err
	}
	for range rounds {
		if err := s.startAzure(ctx, program); err != nil {
			return err
		}
	}
	return nil
}

// timeCheck is the time of the check of a virtual machine, sent and answered.
func timeCheck() (time.Duration, error) {
	doc := map[string]any{}
	if err := json.Unmarshal([]byte(machine), &doc); err != nil {
		return 0, err
	}
	const version = "2024-03-01"
	var problems []schema.Problem
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			sent := schema.Find("PUT", compute.TypeVM, false, version).Request(maps.Clone(doc))
			_, answered := schema.Find("GET", compute.TypeVM, false, version).Answer(doc)
			problems = append(sent, answered...)
		}
	})
	if len(problems) > 0 {
		return 0, fmt.Errorf("the document that is timed has problems: %v", problems)
	}
	return time.Duration(result.NsPerOp()), nil
}

// startAzure times `sandbox up --azure-only`, and reads how much memory what it started has.
func (s *strictness) startAzure(ctx context.Context, program string) error {
	dir, err := os.MkdirTemp("", "bench-azure-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run := func(args ...string) error {
		out, err := exec.CommandContext(ctx, program, append(append([]string{"sandbox"}, args...), "--dir", dir)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("hypershift sandbox %s: %w\n%s", args[0], err, out)
		}
		return nil
	}
	begin := time.Now()
	if err := run("up", "--azure-only"); err != nil {
		return err
	}
	s.start.add(time.Since(begin), 0)
	memory, memoryErr := residentIn(dir)
	s.resident = max(s.resident, memory)
	downErr := run("down")
	return errors.Join(memoryErr, downErr)
}

// residentIn sums the resident memory, in MiB, of the processes whose arguments name the folder. What they share, as the pages of their
// program, counts once (PSS).
func residentIn(dir string) (float64, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	kib := 0
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), dir) {
			continue // one that ended meanwhile, or another's
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "smaps_rollup"))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(status), "\nPss:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		kib += n
	}
	if kib == 0 {
		return 0, fmt.Errorf("no process of the embedded Azure in %s was found", dir)
	}
	return float64(kib) / 1024, nil
}

func (s *strictness) report() error {
	none := &plain{}
	return errors.Join(
		hold("check of a virtual machine's request and answer, in ms", none, s.check.Seconds()*1000, mostCheck.Seconds()*1000, false),
		hold("sandbox up --azure-only, in seconds", none, s.start.median().Seconds(), mostStart.Seconds(), false),
		hold("its resident memory, in MiB", none, s.resident, mostResident, false),
	)
}

// plain is no side: a figure that stands alone.
type plain struct{}

func (*plain) String() string { return "" }
