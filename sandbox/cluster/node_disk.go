package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/disk"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// volumes is the directory of a further node's volumes, as the machine sees it.
func (c Config) volumes(n node) string { return c.disk(n, "volumes") }

// volumesDisk is the disk of a further node's volumes. It outlives a lost power, and its mount goes with the sandbox.
func (c Config) volumesDisk(n node) disk.Disk {
	return disk.Disk{Image: c.disk(n, "volumes.img"), Dir: c.volumes(n)}
}

// noDisk is the file that says why a node's volumes are in a directory of the machine.
func (c Config) noDisk(n node) string { return c.disk(n, "no-disk") }

// attachDisk mounts the disk of the node's volumes before the node's programs start. A machine that cannot have one gives a directory.
func (k *keeper) attachDisk(ctx context.Context) error {
	var reason *disk.NotPossible
	err := k.c.volumesDisk(k.n).Attach(ctx)
	if errors.As(err, &reason) {
		slog.Info("the volumes of the node are in a directory of the machine", "node", k.n.name(), "reason", reason.Reason)
		return wholefile.WriteIfChanged(k.c.noDisk(k.n), []byte(reason.Reason), 0o644)
	}
	return errors.Join(err, removeFile(k.c.noDisk(k.n)))
}

// spoilDisk makes the disk be full, slow, or neither.
func (k *keeper) spoilDisk(ctx context.Context, wanted NodeState) error {
	volumes := k.c.volumesDisk(k.n)
	if wanted != NodeDiskFull {
		if err := volumes.Empty(); err != nil {
			return err
		}
	}
	switch {
	case wanted == NodeDiskFull:
		return volumes.Fill()
	case wanted == NodeDiskSlow && k.relieve == nil:
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := volumes.Stall(ctx); err != nil {
				slog.Error("the disk of the node is not slow any more", "node", k.n.name(), "error", err)
			}
		}()
		k.relieve = func() {
			stop()
			<-ended
		}
	}
	return nil
}

// speedDisk ends what makes the disk slow. What waits for a write can be ended only then.
func (k *keeper) speedDisk() {
	if k.relieve != nil {
		k.relieve()
		k.relieve = nil
	}
}

// mayFail tells whether a node can be brought into a state.
func (c Config) mayFail(n node, state NodeState) error {
	if state != NodeDiskFull && state != NodeDiskSlow || c.volumesDisk(n).Attached() {
		return nil
	}
	reason, err := os.ReadFile(c.noDisk(n))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the disk of node %s is not mounted, so it cannot become %s: bring the node up first, and see %s", n.name(), state, c.path("logs", n.name()+".log"))
	} else if err != nil {
		return err
	}
	return fmt.Errorf("the volumes of node %s are in a directory of this machine, whose disk cannot fail alone: %s; then make the sandbox anew with hypershift sandbox down --purge, and hypershift sandbox up",
		n.name(), strings.TrimSpace(string(reason)))
}

// thawDisks lets writes to all disks through. A process that waits for one cannot be ended before.
func (c Config) thawDisks() error {
	var problems []error
	for _, n := range c.furtherNodes() {
		problems = append(problems, c.volumesDisk(n).Thaw())
	}
	return errors.Join(problems...)
}

// detachDisks unmounts all disks, and returns when no loop device has one.
func (c Config) detachDisks(ctx context.Context) error {
	var problems []error
	for _, n := range c.furtherNodes() {
		problems = append(problems, c.volumesDisk(n).Detach(ctx))
	}
	return errors.Join(problems...)
}
