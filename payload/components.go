package payload

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/operators"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// applets are the names under which the shell's programs are called.
var applets = []string{"sh", "cat", "cp", "mv", "rm", "ls", "mkdir", "ln", "sleep", "echo", "env", "nc", "ip", "ps",
	"grep", "sed", "awk", "head", "tail", "hostname", "httpd", "nslookup", "ping", "id", "date", "test", "true", "false", "chmod",
	"find", "touch", "sync", "vi", "tar", "wc", "tr", "cut", "seq", "top", "df", "mount", "timeout", "nsenter"}

// netfilterNames are what the program that talks to nftables in iptables' words is called.
var netfilterNames = []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"}

//go:embed wget.sh
var wget string

// Inputs are the files that component images of one architecture are made of.
type Inputs struct {
	Parts  string            // directory of built parts
	Own    string            // directory of this project's programs; empty leaves key hypershift out
	Debian *build.DebianRoot // unpacked packages
}

func (in Inputs) bin(program string) string { return filepath.Join(in.Parts, program) }

// programs are the parts that component images need; the sandbox has more.
var programs = []string{"kube", "etcd", "konnectivity-server", "konnectivity-agent", "cluster-api", "cluster-api-provider-azure",
	"azure-cloud-controller-manager", "azure-cloud-node-manager", "azure-workload-identity-webhook", "skipper", "coredns", "flanneld", "flannel",
	"pause", "bridge", "loopback", "host-local", "portmap", "azurediskplugin", "csi-provisioner", "csi-attacher", "csi-resizer",
	"csi-snapshotter", "snapshot-controller", "csi-node-driver-registrar", "livenessprobe", "metrics-server"}

// shell is busybox with its libraries and the names people type. A static one could not look names up.
func (in Inputs) shell() ([]images.File, error) {
	files, err := images.Closure(in.Debian, []string{"bin/busybox"})
	if err != nil {
		return nil, err
	}
	for _, name := range applets {
		files = append(files, images.File{Path: "bin/" + name, Link: "busybox"})
	}
	return append(files, images.File{Path: "bin/wget", Text: wget, Mode: 0o755}), nil
}

// netfilter are the programs that write the kernel's rules.
func (in Inputs) netfilter() ([]images.File, error) {
	// nft prints the names of protocols, which kube-proxy expects when it reads its rules back, only if it can look them up.
	files, err := images.Closure(in.Debian, []string{"usr/sbin/nft", "usr/sbin/xtables-nft-multi", "usr/sbin/conntrack", "etc/protocols"},
		"usr/lib/*/xtables/*.so")
	if err != nil {
		return nil, err
	}
	for _, name := range netfilterNames {
		files = append(files, images.File{Path: "usr/sbin/" + name, Link: "xtables-nft-multi"})
	}
	return files, nil
}

// diskPrograms are the programs by which a driver makes file systems, looks into them and mounts them.
var diskPrograms = []string{"bin/mount", "bin/umount", "bin/findmnt", "bin/lsblk", "sbin/fsck", "sbin/blkid", "sbin/blockdev", "sbin/e2fsck", "sbin/mke2fs",
	"sbin/resize2fs", "sbin/dumpe2fs", "sbin/tune2fs", "sbin/mkfs.xfs", "sbin/xfs_repair", "usr/sbin/xfs_growfs", "usr/sbin/xfs_io"}

// storage are the images of the driver of Azure's disks and what goes with it.
func (in Inputs) storage() ([]images.Spec, error) {
	tools, err := images.Closure(in.Debian, append([]string{"etc/mke2fs.conf"}, diskPrograms...))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"mkfs.ext3", "mkfs.ext4", "fsck.ext3", "fsck.ext4"} {
		target := "mke2fs"
		if strings.HasPrefix(name, "fsck") {
			target = "e2fsck"
		}
		tools = append(tools, images.File{Path: "usr/sbin/" + name, Link: target})
	}
	return []images.Spec{
		{Name: "azure-disk-csi-driver", Entrypoint: []string{"/bin/azurediskplugin"},
			Layers: [][]images.File{tools, {{Path: "bin/azurediskplugin", Source: in.bin("azurediskplugin")}}}},
		in.one("csi-external-provisioner", "csi-provisioner"),
		in.one("csi-external-attacher", "csi-attacher"),
		in.one("csi-external-resizer", "csi-resizer"),
		in.one("csi-external-snapshotter", "csi-snapshotter"),
		in.one("csi-snapshot-controller", "snapshot-controller"),
		in.one("csi-node-driver-registrar", "csi-node-driver-registrar"),
		in.one("csi-livenessprobe", "livenessprobe"),
	}, nil
}

// linked is a multi-call binary with its names.
func (in Inputs) linked(name string, names ...string) []images.File {
	files := []images.File{{Path: "bin/" + name, Source: in.bin(name)}}
	for _, n := range names {
		files = append(files, images.File{Path: "bin/" + n, Link: name})
	}
	return files
}

// one is an image of one binary from the parts.
func (in Inputs) one(key, name string) images.Spec {
	return images.Spec{Name: key, Entrypoint: []string{"/bin/" + name}, Layers: [][]images.File{{{Path: "bin/" + name, Source: in.bin(name)}}}}
}

// specs are the component images of a release, by the order of their keys' making. ownVersion is that of this project's programs.
func (in Inputs) specs(release, ownVersion string) ([]images.Spec, error) {
	kube := in.linked("kube", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
	netfilter, err := in.netfilter()
	if err != nil {
		return nil, err
	}
	shell, err := in.shell()
	if err != nil {
		return nil, err
	}
	haproxy, err := images.Closure(in.Debian, []string{"usr/sbin/haproxy"})
	if err != nil {
		return nil, err
	}
	plugins := []images.File{}
	for _, name := range []string{"bridge", "loopback", "host-local", "portmap"} {
		plugins = append(plugins, images.File{Path: "cni/" + name, Source: in.bin(name)})
	}
	specs := []images.Spec{
		{Name: kubernetesKey, Layers: [][]images.File{kube}},
		{Name: "etcd", Layers: [][]images.File{in.linked("etcd", "etcdctl")}, Entrypoint: []string{"/bin/etcd"}},
		{Name: "apiserver-network-proxy", Layers: [][]images.File{
			{{Path: "bin/proxy-server", Source: in.bin("konnectivity-server")}},
			{{Path: "bin/proxy-agent", Source: in.bin("konnectivity-agent")}}}},
		in.one("cluster-capi-controllers", "cluster-api"),
		in.one("azure-cluster-api-controllers", "cluster-api-provider-azure"),
		in.one("azure-cloud-controller-manager", "azure-cloud-controller-manager"),
		in.one("azure-cloud-node-manager", "azure-cloud-node-manager"),
		in.one("azure-workload-identity-webhook", "azure-workload-identity-webhook"),
		in.one("skipper", "skipper"),
		in.one("coredns", "coredns"),
		in.one("kube-metrics-server", "metrics-server"),
		{Name: "kube-proxy", Layers: [][]images.File{kube, netfilter}, Entrypoint: []string{"/bin/kube-proxy"}},
		{Name: "flannel", Layers: [][]images.File{netfilter, shell, {
			{Path: "bin/flanneld", Source: in.bin("flanneld")}, {Path: "cni/flannel", Source: in.bin("flannel")}}},
			Entrypoint: []string{"/bin/flanneld"}},
		{Name: "container-networking-plugins", Layers: [][]images.File{shell, plugins}},
		in.one("pod", "pause"),
		{Name: "haproxy-router", User: "1001", Layers: [][]images.File{haproxy}, Entrypoint: []string{"/usr/sbin/haproxy"}},
		{Name: "cli", Layers: [][]images.File{shell, kube}},
		{Name: "tools", Layers: [][]images.File{shell}, Entrypoint: []string{"/bin/sh"}},
	}
	storage, err := in.storage()
	if err != nil {
		return nil, err
	}
	specs = append(specs, storage...)
	for i := range specs {
		s := &specs[i]
		s.Version, s.Labels = release, map[string]string{"io.openshift.build.name": s.Name}
		s.Layers = slices.Insert(s.Layers, 0, images.Base)
	}
	if in.Own != "" {
		specs = append(specs, operators.ControlPlaneSpec("hypershift", ownVersion, in.Own))
	}
	return specs, nil
}
