// Command images measures `hypershift images publish` to a registry on the same machine that has nothing, with everything built.
// hack/bench.sh calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// most is what the figure must reach.
const most = 20 * time.Second

func main() {
	program := flag.String("hypershift", "bin/hypershift", "the program")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *program); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run publishes twice, each time to an empty registry: first so that everything is built, then to be timed.
func run(ctx context.Context, program string) error {
	built, first, err := publish(ctx, program)
	if err != nil {
		return err
	}
	took, second, err := publish(ctx, program)
	if err != nil {
		return err
	}
	if first != second {
		return fmt.Errorf("published twice, the same source has two results:\n%s\n%s", first, second)
	}
	verdict := "reached"
	if took > most {
		verdict = "MISSED"
		err = fmt.Errorf("images publish took %s, and may take %s", took.Round(time.Millisecond), most)
	}
	fmt.Printf("images publish, everything built, s: %.1f (may be %g: %s); what was not built before: %.1f\n", took.Seconds(), most.Seconds(), verdict, built.Seconds())
	return err
}

// publish returns how long it took and the digests.
func publish(ctx context.Context, program string) (time.Duration, string, error) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	command := exec.CommandContext(ctx, program, "images", "publish", "--to", host+"/bench", "-o", "json")
	command.Stderr = os.Stderr
	begin := time.Now()
	out, err := command.Output()
	if err != nil {
		return 0, "", fmt.Errorf("hypershift images publish: %w", err)
	}
	return time.Since(begin), strings.ReplaceAll(string(out), host, ""), nil
}
