package payload

import (
	_ "embed"
	"path/filepath"
)

// image is what one container image holds. Every image stands on the base layer.
type image struct {
	key        string // component key of the release payload, or a name of our own
	layers     [][]file
	entrypoint []string
	user       string
	labels     map[string]string
}

// controlPlaneLabels is what the control-plane-operator of this build tells the operator that installs it.
var controlPlaneLabels = map[string]string{
	"io.openshift.hypershift.control-plane-operator-subcommands":                                 "true",
	"io.openshift.hypershift.control-plane-operator-skips-haproxy":                               "true",
	"io.openshift.hypershift.control-plane-operator-supports-kas-custom-kubeconfig":              "true",
	"io.openshift.hypershift.control-plane-operator-applies-management-kas-network-policy-label": "true",
	"io.openshift.hypershift.hosted-cluster-config-operator-reports-node-count":                  "true",
	"io.openshift.hypershift.control-plane-operator.v2-isdefault":                                "true",
	"io.openshift.hypershift.control-plane-operator-manages.decompress-decode-config":            "true",
	"io.openshift.hypershift.restricted-psa":                                                     "true",
}

// base is what a static binary expects of a root file system.
var base = []file{
	{Path: "etc/passwd", Text: "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n", Mode: 0o644},
	{Path: "etc/group", Text: "root:x:0:\nnogroup:x:65534:\n", Mode: 0o644},
	{Path: "etc/nsswitch.conf", Text: "hosts: files dns\n", Mode: 0o644},
	{Path: "tmp/.keep", Mode: 0o644},
	{Path: "var/lib/.keep", Mode: 0o644},
	{Path: "run/.keep", Mode: 0o644},
}

// applets are the names under which the shell's programs are called.
var applets = []string{"sh", "cat", "cp", "mv", "rm", "ls", "mkdir", "ln", "sleep", "echo", "env", "nc", "ip", "ps",
	"grep", "sed", "awk", "head", "tail", "hostname", "httpd", "nslookup", "ping", "id", "date", "test", "true", "false", "chmod",
	"find", "touch", "sync", "vi", "tar", "wc", "tr", "cut", "seq", "top", "df", "mount", "timeout"}

//go:embed wget.sh
var wget string

// shell is busybox with its libraries and the names people type. A static one could not look names up.
func (c Config) shell() ([]file, error) {
	files, err := closureIn(c.DebianDir, c.debian("busybox"))
	if err != nil {
		return nil, err
	}
	for _, name := range applets {
		files = append(files, file{Path: "bin/" + name, Link: "busybox"})
	}
	return append(files, file{Path: "bin/wget", Text: wget, Mode: 0o755}), nil
}

// linked is a multi-call binary with its names.
func (c Config) linked(name string, names ...string) []file {
	files := []file{{Path: "bin/" + name, Source: c.bin(name)}}
	for _, n := range names {
		files = append(files, file{Path: "bin/" + n, Link: name})
	}
	return files
}

// one is an image of one binary from the parts.
func (c Config) one(key, name, as string) image {
	return image{key: key, entrypoint: []string{"/bin/" + as}, layers: [][]file{{{Path: "bin/" + as, Source: c.bin(name)}}}}
}

// components are the images the release payload names.
func (c Config) components() ([]image, error) {
	kube := c.linked("kube", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
	netfilter, err := closure(hostTools("nft", "iptables", "conntrack")...)
	if err != nil {
		return nil, err
	}
	// nft prints the names of protocols, which kube-proxy expects when it reads its rules back, only if it can look them up.
	netfilter = append(netfilter, file{Path: "etc/protocols", Source: "/etc/protocols"})
	shell, err := c.shell()
	if err != nil {
		return nil, err
	}
	haproxy, err := c.haproxy()
	if err != nil {
		return nil, err
	}
	plugins := []file{}
	for _, name := range []string{"bridge", "loopback", "host-local", "portmap"} {
		plugins = append(plugins, file{Path: "cni/" + name, Source: c.bin(name)})
	}
	return []image{
		{key: "hyperkube", layers: [][]file{kube}},
		{key: "etcd", layers: [][]file{c.linked("etcd", "etcdctl")}, entrypoint: []string{"/bin/etcd"}},
		{key: "apiserver-network-proxy", layers: [][]file{
			{{Path: "bin/proxy-server", Source: c.bin("konnectivity-server")}},
			{{Path: "bin/proxy-agent", Source: c.bin("konnectivity-agent")}}}},
		c.one("cluster-capi-controllers", "cluster-api", "cluster-api"),
		c.one("azure-cluster-api-controllers", "cluster-api-provider-azure", "cluster-api-provider-azure"),
		c.one("azure-cloud-controller-manager", "azure-cloud-controller-manager", "azure-cloud-controller-manager"),
		c.one("azure-cloud-node-manager", "azure-cloud-node-manager", "azure-cloud-node-manager"),
		c.one("azure-workload-identity-webhook", "azure-workload-identity-webhook", "azure-workload-identity-webhook"),
		c.one("skipper", "skipper", "skipper"),
		c.one("coredns", "coredns", "coredns"),
		{key: "kube-proxy", layers: [][]file{kube, netfilter}, entrypoint: []string{"/bin/kube-proxy"}},
		{key: "flannel", layers: [][]file{netfilter, shell, {
			{Path: "bin/flanneld", Source: c.bin("flanneld")}, {Path: "cni/flannel", Source: c.bin("flannel")}}},
			entrypoint: []string{"/bin/flanneld"}},
		{key: "container-networking-plugins", layers: [][]file{shell, plugins}},
		c.one("pod", "pause", "pause"),
		{key: "haproxy-router", user: "1001", layers: [][]file{haproxy}, entrypoint: []string{"/usr/sbin/haproxy"}},
		{key: "cli", layers: [][]file{shell, kube}},
		{key: "tools", layers: [][]file{shell}, entrypoint: []string{"/bin/sh"}},
		{key: "hypershift", user: "1001", entrypoint: []string{"/usr/bin/control-plane-operator"},
			layers: c.controlPlane(), labels: controlPlaneLabels},
	}, nil
}

// controlPlane is what runs a control plane.
func (c Config) controlPlane() [][]file {
	return [][]file{
		{{Path: "usr/bin/control-plane-operator", Source: filepath.Join(c.SelfDir, "control-plane-operator")}},
		{{Path: "usr/bin/etcd-helper", Source: filepath.Join(c.SelfDir, "etcd-helper")}},
	}
}

// operator is the image that `install` names; it runs the control planes of payloads that have no image for that.
func (c Config) operator() image {
	return image{key: "hypershift-operator", user: "1001", entrypoint: []string{"/usr/bin/hypershift-operator"}, labels: controlPlaneLabels,
		layers: append(c.controlPlane(), []file{{Path: "usr/bin/hypershift-operator", Source: filepath.Join(c.SelfDir, "hypershift-operator")}})}
}

// externalDNS is the image that "install" names for it; the path of the program is part of what install writes.
func (c Config) externalDNS() image {
	return image{key: "external-dns", user: "65534", entrypoint: []string{"/external-dns"},
		layers: [][]file{{{Path: "external-dns", Source: c.bin("external-dns")}}}}
}

// haproxy is Debian's program with its libraries, unpacked and not installed.
func (c Config) haproxy() ([]file, error) {
	return closureIn(c.DebianDir, filepath.Join(c.DebianDir, "usr/sbin/haproxy"))
}
