package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ignitionProgram is where Debian's package has it: for an initramfs.
const ignitionProgram = "/usr/lib/dracut/modules.d/30ignition/ignition"

// ignitionStages are run in this order at the first boot, as the units of an initramfs do.
var ignitionStages = []string{"fetch-offline", "fetch", "kargs", "disks", "mount", "files", "umount"}

// errNoIgnition: the custom data is for another agent.
var errNoIgnition = errors.New("the custom data is no Ignition configuration; this image has no other agent that reads it")

// provision runs Ignition once in the life of the machine. Its platform is a file: the drive on which Azure hands custom data to
// a machine is a UDF file system, which not every host's kernel can mount.
func provision(ctx context.Context, console io.Writer) error {
	if _, err := os.Stat(resultFile); err == nil {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(stateDir, CustomDataFile))
	if err != nil {
		return err
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' {
		return errNoIgnition
	}
	if _, err := os.Stat(ignitionProgram); err != nil {
		return fmt.Errorf("the operating system has no Ignition: %w", err)
	}
	// what Ignition writes as the root of the machine is the root that there is
	if err := os.MkdirAll("/run/sysroot", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("/", "/run/sysroot", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("root for Ignition: %w", err)
	}
	if err := unix.Mount("", "/run/sysroot", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil { // or its end would be that of /dev and all others
		return fmt.Errorf("root for Ignition: %w", err)
	}
	defer func() { _ = unix.Unmount("/run/sysroot", unix.MNT_DETACH) }() // it goes with the machine at the latest
	for _, stage := range ignitionStages {
		command := exec.CommandContext(ctx, ignitionProgram, "--root=/run/sysroot", "--platform=file", "--stage="+stage, "--log-to-stdout")
		command.Env = append(os.Environ(), "IGNITION_CONFIG_FILE="+filepath.Join(stateDir, CustomDataFile))
		command.Stdout, command.Stderr = console, console
		if err := command.Run(); err != nil {
			return fmt.Errorf("ignition, stage %s: %w", stage, err)
		}
	}
	return nil
}
