// Package guest is what happens in a virtual machine before its operating system runs: hardware, root file system, network and
// provisioning, as firmware and initramfs do it. Ignition and systemd are the real ones.
package guest

// Spec is the hardware of a machine, written by the hypervisor to <machine dir>/vm.json.
type Spec struct {
	Hostname  string `json:"hostname"`
	VMID      string `json:"vmId"`
	Address   string `json:"address"` // with prefix length
	Gateway   string `json:"gateway"`
	DNS       string `json:"dns"`
	VCPUs     int    `json:"vcpus"`
	MemoryMiB int    `json:"memoryMiB"`
	// Layers are the lower directories of the root file system, uppermost first.
	Layers      []string `json:"layers"`
	ReadOnlyUsr bool     `json:"readOnlyUsr"`
	// Controllers are the cgroup v1 mounts to show, by name of the directory under /sys/fs/cgroup; empty means cgroup v2.
	Controllers map[string]string `json:"controllers,omitempty"` // name -> mount options
}

// Files in a machine's directory on the host.
const (
	SpecFile       = "vm.json"
	CustomDataFile = "custom-data" // the Ignition configuration, decoded
	UpperDir       = "upper"
	WorkDir        = "work"
	RootDir        = "rootfs"
	VarDir         = "var" // /var of the machine: containers need a file system that can be the upper layer of an overlay
	ConsoleFile    = "boot.log"
)

const (
	stateDir     = "/run/machine"
	resultFile   = "/etc/.ignition-result.json" // Ignition writes it when it has provisioned a machine
	stageRunning = "running"
)
