package machine

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// imageVersion changes when the content of the image does.
const imageVersion = "1"

//go:embed containerd.toml
var containerdConfig string

const osRelease = `NAME="Embedded Azure Node OS"
ID=embedded-node
ID_LIKE=debian
VERSION_ID=1
PRETTY_NAME="Embedded Azure Node OS 1"
`

// imageFiles are small and public; what a machine adds goes to its own layer.
var imageFiles = map[string]string{
	"etc/passwd":                   "root:x:0:0:root:/root:/bin/bash\ncore:x:1000:1000:CoreOS Admin:/home/core:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	"etc/group":                    "root:x:0:\ntty:x:5:\nsudo:x:27:core\ncore:x:1000:\nnogroup:x:65534:\n",
	"etc/nsswitch.conf":            "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
	"etc/os-release":               osRelease,
	"etc/issue":                    "Embedded Azure Node OS\n",
	"etc/sysctl.d/10-network.conf": "net.ipv4.ip_forward = 1\n-net.bridge.bridge-nf-call-iptables = 1\n",
	"etc/profile":                  "export PATH=/usr/local/sbin:/usr/local/bin:/opt/os/usr/sbin:/opt/os/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
}

var imageDirs = []string{
	"proc", "sys", "dev", "run", "tmp", "var", "usr", "root", "home/core", "mnt", "media", "srv", "boot", "opt/os", "opt/cni/bin", "opt/bin",
	"etc/ssl/certs", "etc/cni/net.d", "etc/containerd/certs.d", "etc/systemd/system", "etc/kubernetes",
}

// imageFromHost is taken from the host as it is: it belongs to the programs under /usr.
var imageFromHost = []string{"etc/ld.so.cache", "etc/ld.so.conf", "etc/protocols", "etc/services", "etc/ethertypes", "etc/gai.conf", "etc/debian_version"}

// buildImage makes the lower layer of machines' root file systems and returns its directory. Images are named by their content: a machine keeps the
// image it was made with.
func buildImage(cfg Config) (string, error) {
	bundle, err := os.ReadFile(cfg.CABundle)
	if err != nil {
		return "", fmt.Errorf("roots for the machines: %w", err)
	}
	runtime := containerdFor(cfg)
	sum := sha256.Sum256([]byte(imageVersion + string(bundle) + runtime))
	dir := filepath.Join(cfg.Dir, ".image", hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) // gone when renamed
	if err := fillImage(work, bundle, runtime); err != nil {
		return "", fmt.Errorf("image of the machines: %w", err)
	}
	if err := os.Rename(work, dir); err != nil {
		return "", err
	}
	return dir, nil
}

func fillImage(dir string, bundle []byte, runtime string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, d := range imageDirs {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{"etc/ssl/certs/ca-certificates.crt": string(bundle), "etc/containerd/config.toml": runtime}
	for name, text := range imageFiles {
		files[name] = text
	}
	for _, name := range imageFromHost {
		if data, err := os.ReadFile("/" + name); err == nil {
			files[name] = string(data)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := imageLinks(dir); err != nil {
		return err
	}
	return errors.Join(os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky), os.Chmod(filepath.Join(dir, "root"), 0o700),
		os.Chown(filepath.Join(dir, "home/core"), 1000, 1000))
}

// imageLinks are those of a merged /usr and the host's alternatives, with iptables on nf_tables.
func imageLinks(dir string) error {
	links := map[string]string{"etc/mtab": "/proc/self/mounts", "etc/localtime": "/usr/share/zoneinfo/Etc/UTC"}
	for _, d := range []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"} {
		if _, err := os.Stat("/usr/" + d); err == nil {
			links[d] = "usr/" + d
		}
	}
	entries, err := os.ReadDir("/etc/alternatives")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/etc/alternatives", e.Name())); err == nil {
			links["etc/alternatives/"+e.Name()] = target
		}
	}
	for _, family := range []string{"iptables", "ip6tables"} {
		for _, tool := range []string{"", "-save", "-restore"} {
			links["etc/alternatives/"+family+tool] = "/usr/sbin/" + family + "-nft" + tool
		}
	}
	for name, target := range links {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, path); err != nil {
			return err
		}
	}
	return nil
}

// containerdFor adapts the runtime's configuration to this machine: without CAP_SYS_RESOURCE no process can be made less likely to be
// killed than it is, and containers whose configuration asks for it do not start.
func containerdFor(cfg Config) string {
	restrict := "false"
	if !hasCapability(unix.CAP_SYS_RESOURCE) {
		restrict = "true"
	}
	return strings.NewReplacer("@RESTRICT_OOM@", restrict, "@RUNC@", guestProgram(cfg, "runc")).Replace(containerdConfig)
}

func hasCapability(c uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[c/32].Effective&(1<<(c%32)) != 0
}
