package guest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// memInfo is the host's with the total, and what is free, of the machine's size.
func memInfo(host []byte, spec Spec) []byte {
	total := spec.MemoryMiB * 1024
	if total == 0 {
		return host
	}
	var out bytes.Buffer
	for line := range bytes.Lines(host) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "MemTotal", "MemFree", "MemAvailable":
			fields := bytes.Fields(rest)
			value, _ := strconv.Atoi(string(fields[0]))
			if string(name) == "MemTotal" || value > total {
				value = total
			}
			fmt.Fprintf(&out, "%-16s%8d kB\n", string(name)+":", value)
		default:
			out.Write(line)
		}
	}
	return out.Bytes()
}

// cpuInfo repeats the host's first processor.
func cpuInfo(host []byte, spec Spec) []byte {
	first, _, _ := bytes.Cut(host, []byte("\n\n"))
	if spec.VCPUs == 0 || !bytes.HasPrefix(first, []byte("processor")) {
		return host
	}
	_, rest, _ := bytes.Cut(first, []byte("\n"))
	var out bytes.Buffer
	for i := range spec.VCPUs {
		fmt.Fprintf(&out, "processor\t: %d\n%s\n\n", i, rest)
	}
	return out.Bytes()
}

const cpuTree = "/sys/devices/system/cpu"

// topology hides the host's processors behind as many as the machine has, where the kubelet counts them.
func (m *mounts) topology() error {
	if m.spec.VCPUs == 0 {
		return nil
	}
	dir := filepath.Join(m.root, stateDir, "cpu")
	online, err := os.ReadFile(cpuTree + "/online")
	if err != nil {
		return err
	}
	files := map[string][]byte{"online": online}
	for i := range m.spec.VCPUs {
		// a directory counts; one without a topology is a processor that nothing is placed on, as the host does not have it
		topology := fmt.Sprintf("cpu%d/topology", i)
		if err := os.MkdirAll(filepath.Join(dir, topology), 0o755); err != nil {
			return err
		}
		for _, name := range []string{"core_id", "physical_package_id"} {
			if data, err := os.ReadFile(filepath.Join(cpuTree, topology, name)); err == nil {
				files[filepath.Join(topology, name)] = data
			}
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o444); err != nil {
			return err
		}
	}
	if err := m.bind(dir, cpuTree, true); err != nil {
		return err
	}
	nodes := filepath.Join(m.root, stateDir, "node") // memory nodes repeat the processors
	if err := os.MkdirAll(nodes, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat("/sys/devices/system/node"); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return m.bind(nodes, "/sys/devices/system/node", true)
}
