package ignition

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"
)

//go:embed node/node-update.sh
var nodeUpdateScript string

const (
	// NodeUpdate is the program by which a machine of a pool that is updated in place becomes what its pool asks for now. It reads from its
	// standard input what UserData.Settings says.
	NodeUpdate = programs + "node-update"
	// KubeletSince is where NodeUpdate leaves since when the kubelet runs with the configuration, in seconds since 1970.
	KubeletSince = "/run/hypershift/kubelet-since"
	// FilesPath of the server has the files of a configuration, for NodeUpdate.
	FilesPath = "/ignition-files"
	// records of a machine: the paths that its configuration wrote, what becomes of its units, and a digest of what only a first boot does.
	recordDir   = "/etc/kubernetes/in-place/"
	pathsRecord = recordDir + "paths"
	unitsRecord = recordDir + "units"
	fixedRecord = recordDir + "fixed"
	unitDir     = "/etc/systemd/system/"
	// maxFile bounds what a compressed file of a user's grows to, in bytes.
	maxFile = 64 << 20
)

// tree is what a configuration writes on a machine.
type tree struct {
	entries []treeEntry
	// units are lines of a verb and a unit: enable, disable or mask.
	units []string
	// fixed is the digest of what only a first boot does: users, disks, kernel arguments, and files that are not wholly in the configuration.
	fixed string
}

type treeEntry struct {
	header  tar.Header
	content []byte
}

// addInPlace gives a configuration the program that changes machines where they are, and the records that it compares with.
func addInPlace(config types.Config) (types.Config, error) {
	config.Storage.Files = append(slices.Clone(config.Storage.Files), file(NodeUpdate, 0o755, nodeUpdateScript))
	written, err := treeOf(config)
	if err != nil {
		return types.Config{}, err
	}
	paths := []string{pathsRecord, unitsRecord, fixedRecord}
	for _, entry := range written.entries {
		paths = append(paths, entry.header.Name)
	}
	slices.Sort(paths)
	lines := func(list []string) string { return strings.Join(slices.Compact(list), "\n") + "\n" }
	config.Storage.Files = append(config.Storage.Files,
		file(pathsRecord, 0o600, lines(paths)), file(unitsRecord, 0o600, lines(written.units)), file(fixedRecord, 0o600, written.fixed+"\n"))
	return config, nil
}

// Archive is what the configuration of an Ignition document writes, as tar.
func Archive(payload []byte) ([]byte, error) {
	config, report, err := v3_4.ParseCompatibleVersion(payload)
	if err != nil {
		return nil, fmt.Errorf("the configuration is no valid Ignition: %w: %s", err, report.String())
	}
	written, err := treeOf(config)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, entry := range written.entries {
		header := entry.header
		header.Name, header.Size, header.Format = strings.TrimPrefix(header.Name, "/"), int64(len(entry.content)), tar.FormatPAX
		if err := writer.WriteHeader(&header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", header.Name, err)
		}
		if _, err := writer.Write(entry.content); err != nil {
			return nil, fmt.Errorf("pack %s: %w", header.Name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack the configuration: %w", err)
	}
	return out.Bytes(), nil
}

// treeOf takes apart what a machine can be given again, and what only its first boot does.
func treeOf(config types.Config) (*tree, error) {
	out := &tree{}
	fixed := config
	fixed.Ignition.Version = ""
	fixed.Systemd, fixed.Storage.Files, fixed.Storage.Directories, fixed.Storage.Links = types.Systemd{}, nil, nil, nil
	for _, f := range config.Storage.Files {
		if !repeatable(f) {
			fixed.Storage.Files = append(fixed.Storage.Files, f)
			continue
		}
		content, err := contentOf(f)
		if err != nil {
			return nil, err
		}
		out.add(f.Node, tar.Header{Typeflag: tar.TypeReg, Mode: int64(ptr.Deref(f.Mode, 0o644))}, content)
	}
	for _, d := range config.Storage.Directories {
		out.add(d.Node, tar.Header{Typeflag: tar.TypeDir, Mode: int64(ptr.Deref(d.Mode, 0o755))}, nil)
	}
	for _, l := range config.Storage.Links {
		if ptr.Deref(l.Hard, false) {
			fixed.Storage.Links = append(fixed.Storage.Links, l)
			continue
		}
		out.add(l.Node, tar.Header{Typeflag: tar.TypeSymlink, Linkname: ptr.Deref(l.Target, ""), Mode: 0o777}, nil)
	}
	for _, u := range config.Systemd.Units {
		out.addUnit(u)
	}
	for _, entry := range out.entries {
		if name := entry.header.Name; path.Clean(name) != name || strings.ContainsAny(name, "\n\r") {
			return nil, fmt.Errorf("the path %q of a machine configuration is not clean; write it without //, ./, ../ and line ends", name)
		}
	}
	encoded, err := json.Marshal(fixed)
	if err != nil {
		return nil, fmt.Errorf("encode what a first boot does: %w", err)
	}
	digest := sha256.Sum256(encoded)
	out.fixed = hex.EncodeToString(digest[:])
	return out, nil
}

// repeatable: the whole file is in the configuration, so that it can be written again.
func repeatable(f types.File) bool {
	return len(f.Append) == 0 && f.Contents.Source != nil && strings.HasPrefix(*f.Contents.Source, "data:") && f.Contents.Verification.Hash == nil
}

func contentOf(f types.File) ([]byte, error) {
	decoded, err := dataurl.DecodeString(*f.Contents.Source)
	if err != nil {
		return nil, fmt.Errorf("content of file %s: %w", f.Path, err)
	}
	switch compression := ptr.Deref(f.Contents.Compression, ""); compression {
	case "":
		return decoded.Data, nil
	case "gzip":
	default:
		return nil, fmt.Errorf("content of file %s is compressed by %s; use gzip", f.Path, compression)
	}
	reader, err := gzip.NewReader(bytes.NewReader(decoded.Data))
	if err != nil {
		return nil, fmt.Errorf("content of file %s: %w", f.Path, err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("content of file %s: %w", f.Path, err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("content of file %s has more than %d bytes", f.Path, maxFile)
	}
	return content, nil
}

// add appends an entry; of two with one path the later counts, as on a first boot.
func (t *tree) add(node types.Node, header tar.Header, content []byte) {
	header.Name = node.Path
	header.Uid, header.Uname = ptr.Deref(node.User.ID, 0), ptr.Deref(node.User.Name, "")
	header.Gid, header.Gname = ptr.Deref(node.Group.ID, 0), ptr.Deref(node.Group.Name, "")
	t.entries = slices.DeleteFunc(t.entries, func(known treeEntry) bool { return known.header.Name == header.Name })
	t.entries = append(t.entries, treeEntry{header, content})
}

func (t *tree) addUnit(u types.Unit) {
	write := func(name, content string) {
		t.add(types.Node{Path: unitDir + name}, tar.Header{Typeflag: tar.TypeReg, Mode: 0o644}, []byte(content))
	}
	if ptr.Deref(u.Mask, false) {
		t.add(types.Node{Path: unitDir + u.Name}, tar.Header{Typeflag: tar.TypeSymlink, Linkname: "/dev/null", Mode: 0o777}, nil)
		t.units = append(t.units, "mask "+u.Name)
		return
	}
	if ptr.Deref(u.Contents, "") != "" {
		write(u.Name, *u.Contents)
	}
	for _, d := range u.Dropins {
		if ptr.Deref(d.Contents, "") != "" {
			write(u.Name+".d/"+d.Name, *d.Contents)
		}
	}
	if u.Enabled != nil {
		verb := "disable"
		if *u.Enabled {
			verb = "enable"
		}
		t.units = append(t.units, verb+" "+u.Name)
	}
}

// Settings are what NodeUpdate reads: where the files of the pool's configuration are, the token, and the authority of the server. They are
// a file of curl's, and the certificate after it.
func (u UserData) Settings() []byte {
	return fmt.Appendf(nil, "url = \"https://%s%s\"\nheader = \"%s: %s\"\nheader = \"%s: %s\"\nheader = \"%s: %s\"\n%s", u.Endpoint, FilesPath,
		headerAuthorization, u.bearer(), headerNodePool, u.NodePool, headerTargetVersion, u.TargetConfigVersion, u.CA)
}
