package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
)

const unitDir = "/etc/systemd/system"

// provisioner applies a configuration to a root file system.
type provisioner struct {
	root  string // "/" in a machine
	fetch *fetcher
}

// apply writes directories, files, links, users' keys and units, in Ignition's order.
func (p *provisioner) apply(ctx context.Context, cfg types.Config) error {
	if err := unsupported(cfg); err != nil {
		return err
	}
	if err := p.users(cfg.Passwd); err != nil {
		return err
	}
	dirs := slices.Clone(cfg.Storage.Directories)
	slices.SortFunc(dirs, func(a, b types.Directory) int { return cmp.Compare(len(a.Path), len(b.Path)) })
	for _, d := range dirs {
		if err := p.directory(d); err != nil {
			return fmt.Errorf("directory %s: %w", d.Path, err)
		}
	}
	for _, f := range cfg.Storage.Files {
		if err := p.file(ctx, f); err != nil {
			return fmt.Errorf("file %s: %w", f.Path, err)
		}
	}
	for _, l := range cfg.Storage.Links {
		if err := p.link(l); err != nil {
			return fmt.Errorf("link %s: %w", l.Path, err)
		}
	}
	for _, u := range cfg.Systemd.Units {
		if err := p.unit(u); err != nil {
			return fmt.Errorf("unit %s: %w", u.Name, err)
		}
	}
	return nil
}

func unsupported(cfg types.Config) error {
	s := cfg.Storage
	for what, n := range map[string]int{
		"storage.disks": len(s.Disks), "storage.raid": len(s.Raid), "storage.filesystems": len(s.Filesystems), "storage.luks": len(s.Luks),
		"kernelArguments": len(cfg.KernelArguments.ShouldExist) + len(cfg.KernelArguments.ShouldNotExist), "passwd.groups": len(cfg.Passwd.Groups),
	} {
		if n > 0 {
			return fmt.Errorf("%s: %w", what, ErrDirective)
		}
	}
	return nil
}

func (p *provisioner) path(name string) string { return filepath.Join(p.root, name) }

func (p *provisioner) directory(d types.Directory) error {
	path := p.path(d.Path)
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		if !isTrue(d.Overwrite) {
			return errors.New("something else is there and overwrite is not set")
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return p.own(path, d.Node, d.Mode, 0o755)
}

func (p *provisioner) file(ctx context.Context, f types.File) error {
	path := p.path(f.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	_, err := os.Lstat(path)
	exists := err == nil
	if exists && f.Contents.Source != nil && !isTrue(f.Overwrite) {
		return errors.New("the file exists and overwrite is not set")
	}
	if f.Contents.Source != nil || !exists {
		data, err := p.fetch.resource(ctx, f.Contents)
		if err != nil {
			return err
		}
		if err := replaceFile(path, data); err != nil {
			return err
		}
	}
	for _, part := range f.Append {
		data, err := p.fetch.resource(ctx, part)
		if err != nil {
			return err
		}
		if err := appendFile(path, data); err != nil {
			return err
		}
	}
	return p.own(path, f.Node, f.Mode, 0o644)
}

// replaceFile writes privately; the caller widens the mode, so that a secret is never readable in between.
func replaceFile(path string, data []byte) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func appendFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (p *provisioner) link(l types.Link) error {
	path := p.path(l.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		if !isTrue(l.Overwrite) {
			return errors.New("something is there and overwrite is not set")
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if isTrue(l.Hard) {
		return os.Link(p.path(deref(l.Target)), path)
	}
	return os.Symlink(deref(l.Target), path)
}

func (p *provisioner) own(path string, n types.Node, mode *int, fallback os.FileMode) error {
	uid, err := p.id("/etc/passwd", n.User.ID, n.User.Name)
	if err != nil {
		return err
	}
	gid, err := p.id("/etc/group", n.Group.ID, n.Group.Name)
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(path, uid, gid); err != nil {
			return err
		}
	}
	if mode != nil {
		fallback = fileMode(*mode)
	}
	return os.Chmod(path, fallback)
}

// fileMode translates Unix bits to Go's.
func fileMode(m int) os.FileMode {
	out := os.FileMode(m & 0o777)
	for bit, flag := range map[int]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if m&bit != 0 {
			out |= flag
		}
	}
	return out
}

func (p *provisioner) id(database string, id *int, name *string) (int, error) {
	if id != nil {
		return *id, nil
	}
	if deref(name) == "" {
		return 0, nil
	}
	data, err := os.ReadFile(p.path(database))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if fields := strings.Split(line, ":"); len(fields) > 2 && fields[0] == *name {
			return strconv.Atoi(fields[2])
		}
	}
	return 0, fmt.Errorf("%s knows no %q", database, *name)
}

// users gives the image's users their keys; making users is not what a node needs.
func (p *provisioner) users(passwd types.Passwd) error {
	for _, u := range passwd.Users {
		uid, err := p.id("/etc/passwd", nil, &u.Name)
		if err != nil {
			return fmt.Errorf("user %s: %w: %w", u.Name, err, ErrDirective)
		}
		home := "/home/" + u.Name
		if u.Name == "root" {
			home = "/root"
		}
		dir := p.path(home + "/.ssh")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		keys := make([]string, 0, len(u.SSHAuthorizedKeys))
		for _, k := range u.SSHAuthorizedKeys {
			keys = append(keys, strings.TrimSpace(string(k)))
		}
		file := filepath.Join(dir, "authorized_keys")
		if err := os.WriteFile(file, []byte(strings.Join(keys, "\n")+"\n"), 0o600); err != nil {
			return err
		}
		for _, path := range []string{dir, file} {
			if err := os.Lchown(path, uid, uid); err != nil && os.Geteuid() == 0 {
				return err
			}
		}
	}
	return nil
}

// unit writes a unit and its drop-ins; enabling is a link, so that it holds at the next boot.
func (p *provisioner) unit(u types.Unit) error {
	dir := p.path(unitDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if isTrue(u.Mask) {
		_ = os.Remove(filepath.Join(dir, u.Name))
		return os.Symlink("/dev/null", filepath.Join(dir, u.Name))
	}
	if u.Contents != nil {
		if err := writePublic(filepath.Join(dir, u.Name), *u.Contents); err != nil {
			return err
		}
	}
	for _, d := range u.Dropins {
		if err := writePublic(filepath.Join(dir, u.Name+".d", d.Name), deref(d.Contents)); err != nil {
			return err
		}
	}
	wants := filepath.Join(dir, "multi-user.target.wants")
	link := filepath.Join(wants, u.Name)
	if u.Enabled == nil {
		return nil
	}
	if !*u.Enabled {
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(unitDir, u.Name), link); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func writePublic(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func isTrue(b *bool) bool { return b != nil && *b }
