// twin is the checker that stands in images of a twin payload where a program of OpenShift's would be, under that program's name. It is
// part of tests, and of no product.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hypershift-on-azure/hypershift/twin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := twin.Run(ctx, filepath.Base(os.Args[0]), os.Args[1:])
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	// The kubelet shows it on the pod, from where it reaches the conditions; outside of a pod there is no such file.
	if log, openErr := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0); openErr == nil {
		_, _ = fmt.Fprint(log, err)
		_ = log.Close()
	}
	os.Exit(1)
}
