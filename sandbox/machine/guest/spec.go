// Package guest is the operating system of the embedded virtual machine: pid 1. It provisions itself from Ignition at the first boot, then
// starts units and looks after them.
package guest

// Spec is the hardware of a machine, written by the hypervisor to <machine dir>/vm.json.
type Spec struct {
	Hostname  string `json:"hostname"`
	Address   string `json:"address"` // with prefix length
	Gateway   string `json:"gateway"`
	DNS       string `json:"dns"`
	VCPUs     int    `json:"vcpus"`
	MemoryMiB int    `json:"memoryMiB"`
	Image     string `json:"image"`    // lower directory of the root file system
	Binaries  string `json:"binaries"` // shown at OSDir; "" is none
	// Controllers are the cgroup v1 mounts to show, by name of the directory under /sys/fs/cgroup; empty means cgroup v2.
	Controllers map[string]string `json:"controllers,omitempty"` // name -> mount options
	Containerd  bool              `json:"containerd"`            // the image has a container runtime
}

// Files in a machine's directory on the host.
const (
	SpecFile       = "vm.json"
	CustomDataFile = "custom-data" // the Ignition configuration, decoded
	UpperDir       = "upper"
	WorkDir        = "work"
	RootDir        = "rootfs"
	VarDir         = "var" // /var of the machine: containers need a file system that can be the upper layer of an overlay
	LogDir         = "logs"
)

// OSDir is where the machine sees the binaries its operating system brings beside the host's /usr.
const OSDir = "/opt/os"

const (
	stateDir     = "/run/machine"
	resultFile   = "/etc/.ignition-result.json" // as Ignition names it: the machine is provisioned
	unitLogDir   = "/var/log/units"
	stageRunning = "running"
)
