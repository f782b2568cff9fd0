package supervise

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	logLimit    = 10 << 20
	logInterval = 5 * time.Second
)

// rotateLogs keeps every log at no more than two files. The parts hold their
// file open for appending, so it is copied and cut rather than renamed.
func rotateLogs(ctx context.Context, dir string) {
	ticker := time.NewTicker(logInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		paths, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
				_ = rotate(path)
			}
		}
	}
}

func rotate(path string) error {
	from, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path+".1", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return from.Truncate(0)
}

// Tail returns the last lines of a part's log, for error messages.
func Tail(dir, part string, lines int) string {
	file, err := os.Open(filepath.Join(dir, "logs", part+".log"))
	if err != nil {
		return ""
	}
	defer file.Close()
	const window = 16 << 10
	if info, err := file.Stat(); err == nil && info.Size() > window {
		_, _ = file.Seek(-window, io.SeekEnd)
	}
	text, _ := io.ReadAll(file)
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
