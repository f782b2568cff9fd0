// Package sandbox has the commands of the sandbox, an offline Azure with a management cluster on this machine. They need Linux: files whose
// names end with _linux.go have them, and other.go says so elsewhere.
package sandbox

const (
	commandName = "sandbox"
	summary     = "An offline Azure with a management cluster on this machine"
)
