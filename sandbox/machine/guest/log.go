package guest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const maxLog = 10 << 20

// rotating is a log file that keeps one old generation.
type rotating struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

func openLog(path string) (*rotating, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	l := &rotating{path: path}
	return l, l.open()
}

func (l *rotating) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write implements io.Writer.
func (l *rotating) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > maxLog {
		l.file.Close()
		if err := os.Rename(l.path, l.path+".1"); err != nil {
			return 0, err
		}
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

// pipe returns a file for a child's output; what is written there reaches the log until the last holder closes it.
func (l *rotating) pipe() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer r.Close()
		_, _ = io.Copy(l, r) // a full disk loses log lines, never the service
	}()
	return w, nil
}

// bootLog prints lines with the time since boot.
func bootLog(w io.Writer) func(string, ...any) {
	start := time.Now()
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%s [%8.3f] %s\n", time.Now().UTC().Format(time.RFC3339), time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
}
