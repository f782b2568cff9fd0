// debianlock pins the Debian packages that images and machines of the sandbox are made of, at the versions that this system's sources have.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hypershift-on-azure/hypershift/parts/build"
)

func main() {
	text, err := build.LockDebian(context.Background(), time.Now())
	if err == nil {
		err = os.WriteFile("parts/build/debian.lock", []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "debianlock:", err)
		os.Exit(1)
	}
}
