package guest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
)

const notifyDir = "/run/systemd/notify"

// notifySocket is where a service of Type=notify says READY=1; the channel closes then.
func notifySocket(unitName string) (path string, ready <-chan struct{}, done func(), err error) {
	if err := os.MkdirAll(notifyDir, 0o755); err != nil {
		return "", nil, nil, err
	}
	path = filepath.Join(notifyDir, unitName)
	_ = os.Remove(path) // of an earlier start
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return "", nil, nil, err
	}
	ch := make(chan struct{})
	go func() {
		buf := make([]byte, 4096)
		said := false
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			for line := range strings.SplitSeq(string(buf[:n]), "\n") {
				if line == "READY=1" && !said {
					said = true
					close(ch)
				}
			}
		}
	}()
	return path, ch, func() { conn.Close() }, nil
}
