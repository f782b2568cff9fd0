// Command release builds what a release of the command line consists of, for every platform: an archive with the program, its shell
// completions and its manual pages, and a bill of materials; the operators' images in one file; and checksums.txt with the SHA-256 of all of them. The same commit, version
// and Go give the same bytes. The program is linked as it links the command line, so that manual pages show the defaults of the release:
//
//	go run -ldflags "$LDFLAGS" ./hack/release --ldflags "$LDFLAGS" --dist dist
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hypershift-on-azure/hypershift/internal/cli"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// platforms of a release, as Go names them.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	r := release{source: "./cmd/hypershift", version: version.Version, root: cli.NewRoot()}
	flags := pflag.NewFlagSet("release", pflag.ContinueOnError)
	flags.StringVar(&r.ldflags, "ldflags", "", "flags of the linker, as those of `make build`")
	flags.StringVar(&r.dist, "dist", "dist", "folder that the release is written to")
	flags.StringSliceVar(&r.platforms, "platforms", platforms, "platforms to build for, OS/ARCHITECTURE")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.images = func(ctx context.Context, path string) error {
		command := cli.NewRoot()
		command.SetArgs([]string{"images", "bundle", "--out", path})
		return command.ExecuteContext(ctx)
	}
	var err error
	if r.at, err = commitTime(ctx); err != nil {
		return err
	}
	return r.make(ctx)
}

// commitTime is the time of all files in the archives: SOURCE_DATE_EPOCH, in seconds since 1970, else that of the commit.
func commitTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("cannot read the time of the commit, set SOURCE_DATE_EPOCH: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q is no number of seconds: %w", text, err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

var platformForm = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+$`)

// versionForm is what may stand in the name of a file and in a tag.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]*$`)

// check refuses bad input before anything is written.
func (r release) check() error {
	if !versionForm.MatchString(r.version) {
		return fmt.Errorf("version %q has characters that names of files and tags do not; use letters, digits, dots, dashes and underscores", r.version)
	}
	if len(r.platforms) == 0 {
		return errors.New("--platforms is empty; give at least one, such as linux/amd64")
	}
	for _, platform := range r.platforms {
		if !platformForm.MatchString(platform) {
			return fmt.Errorf("--platforms: %q is not of the form OS/ARCHITECTURE", platform)
		}
	}
	if _, err := os.Stat(r.source); err != nil {
		return fmt.Errorf("run it in the root of the repository: %w", err)
	}
	return nil
}

// clear makes the folder and removes what an earlier release left in it; other files stay.
func (r release) clear() error {
	if err := os.MkdirAll(r.dist, 0o755); err != nil {
		return fmt.Errorf("make --dist: %w", err)
	}
	for _, pattern := range []string{r.program() + "_*.tar.gz", r.program() + "_*" + billSuffix, r.program() + imagesSuffix, checksumsFile} {
		former, err := filepath.Glob(filepath.Join(r.dist, pattern))
		if err != nil {
			return err
		}
		for _, path := range former {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("remove an earlier release: %w", err)
			}
		}
	}
	return nil
}
