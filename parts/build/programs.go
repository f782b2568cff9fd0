package build

import (
	"path"
	"slices"
	"strings"
)

// A Program is one binary to build.
type Program struct {
	Name    string   // file name of the binary
	Module  string   // directory under parts
	Package string   // import path, or ./dir inside the module
	Main    string   // the module that has ./dir, if it is not Module: its main package is built with other versions
	LDFlags []string // -X arguments and the like; -s -w are always given
	Tags    []string
	Version string   // version of the upstream project
	Aliases []string // names under which a multi-call binary is linked
}

// mainModule is the module that has the source of the main package.
func (p Program) mainModule() string {
	if p.Main != "" {
		return p.Main
	}
	return p.Module
}

// borrowedBy are the directories of other modules that programs of a module
// have their main package in.
func borrowedBy(module string, programs []Program) []string {
	var dirs []string
	for _, p := range programs {
		if p.Module == module && p.Main != "" {
			dirs = append(dirs, path.Join(p.Main, p.Package))
		}
	}
	return dirs
}

// kubernetes are the versions of Kubernetes that can be built, with the module
// that pins each. Only its own programs differ; the others are those of
// module kube134, whatever the version.
var kubernetes = []struct{ version, module string }{
	{KubernetesVersion, module134},
	{"v1.34.3", "kube1343"},
	{"v1.35.1", "kube135"},
}

// KubernetesVersions are the versions of Kubernetes that can be built, the
// sandbox's first.
func KubernetesVersions() []string {
	var versions []string
	for _, k := range kubernetes {
		versions = append(versions, k.version)
	}
	return versions
}

// Versions of what the programs are made from. Those of module kube134 share
// one line of Kubernetes libraries, held by the module's replacements.
const (
	KubernetesVersion  = "v1.34.2"
	etcdVersion        = "v3.6.5"
	cniVersion         = "v1.8.0"
	flannelVersion     = "v0.27.0"
	capiVersion        = "v1.12.4"
	capzVersion        = "v1.23.0"
	cloudVersion       = "v1.34.3"
	knpVersion         = "v0.34.0"
	ExternalDNSVersion = "v0.18.0"
	webhookVersion     = "v1.3.0"
	skipperVersion     = "v0.23.0"
	diskVersion        = "v1.34.0"
	metricsVersion     = "v0.7.2"
)

const (
	module134         = "kube134"
	moduleExternalDNS = "externaldns"
	moduleWebhook     = "azureworkloadidentity"
	moduleSkipper     = "skipper"
	moduleConformance = "conformance"
	moduleCSI         = "csi134"
	moduleMetrics     = "metricsserver"
)

// Programs lists every program, in the order in which they are built: what a
// management cluster needs to start comes first.
func (t Target) Programs() []Program {
	const (
		cloud = "sigs.k8s.io/cloud-provider-azure/"
		knp   = "sigs.k8s.io/apiserver-network-proxy/cmd/"
		cni   = "github.com/containernetworking/plugins/"
	)
	cniFlags := set("github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion", cniVersion)
	programs := []Program{
		{Name: "etcd", Package: "./etcd", Version: etcdVersion, Aliases: []string{"etcdctl"}},
		{Name: "kube", Package: "./kube", Version: KubernetesVersion, LDFlags: kubeFlags(KubernetesVersion), Aliases: []string{
			"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"}},
		{Name: "bridge", Package: cni + "plugins/main/bridge", Version: cniVersion, LDFlags: cniFlags},
		{Name: "loopback", Package: cni + "plugins/main/loopback", Version: cniVersion, LDFlags: cniFlags},
		{Name: "host-local", Package: cni + "plugins/ipam/host-local", Version: cniVersion, LDFlags: cniFlags},
		{Name: "portmap", Package: cni + "plugins/meta/portmap", Version: cniVersion, LDFlags: cniFlags},
		{Name: "pause", Package: "./pause", Version: KubernetesVersion},
		{Name: "coredns", Package: "./coredns", Version: "v1.13.1"},
		{Name: "registry", Package: "./registry", Version: "v3.0.0",
			LDFlags: set("github.com/distribution/distribution/v3/version.version", "v3.0.0")},
		{Name: "local-path-provisioner", Package: "./local-path-provisioner", Version: "v13.0.0", LDFlags: set("main.version", "v13.0.0")},
		{Name: "cluster-api", Package: "sigs.k8s.io/cluster-api", Version: capiVersion,
			LDFlags: gitVersion("sigs.k8s.io/cluster-api/version", capiVersion)},
		{Name: "cluster-api-provider-azure", Package: "sigs.k8s.io/cluster-api-provider-azure", Version: capzVersion,
			LDFlags: gitVersion("sigs.k8s.io/cluster-api-provider-azure/version", capzVersion)},
		{Name: "azure-cloud-controller-manager", Package: cloud + "cmd/cloud-controller-manager", Version: cloudVersion, LDFlags: cloudFlags()},
		{Name: "azure-cloud-node-manager", Package: cloud + "cmd/cloud-node-manager", Version: cloudVersion, LDFlags: cloudFlags()},
		{Name: "konnectivity-server", Package: knp + "server", Version: knpVersion},
		{Name: "konnectivity-agent", Package: knp + "agent", Version: knpVersion},
		{Name: "flanneld", Package: "./flanneld", Version: flannelVersion,
			LDFlags: set("github.com/flannel-io/flannel/pkg/version.Version", flannelVersion)},
		{Name: "flannel", Package: "./flannel", Version: cniVersion, LDFlags: cniFlags},
	}
	for i := range programs {
		programs[i].Module = module134
	}
	t.kubernetes(programs)
	return slices.Concat(programs, others(), storage())
}

// kubernetes gives the program of Kubernetes the target's version.
func (t Target) kubernetes(programs []Program) {
	for _, k := range kubernetes {
		if k.version != t.Kubernetes || k.module == module134 {
			continue
		}
		for i := range programs {
			if p := &programs[i]; p.Name == "kube" {
				p.Module, p.Main, p.Version, p.LDFlags = k.module, module134, k.version, kubeFlags(k.version)
			}
		}
	}
}

// others have modules of their own.
func others() []Program {
	const webhook = "github.com/Azure/azure-workload-identity/"
	return []Program{
		{Name: "external-dns", Module: moduleExternalDNS, Package: "sigs.k8s.io/external-dns",
			Version: ExternalDNSVersion, LDFlags: set("sigs.k8s.io/external-dns/pkg/apis/externaldns.Version", ExternalDNSVersion)},
		{Name: "azure-workload-identity-webhook", Module: moduleWebhook, Package: webhook + "cmd/webhook",
			Version: webhookVersion, LDFlags: set(webhook+"pkg/version.BuildVersion", webhookVersion)},
		{Name: "skipper", Module: moduleSkipper, Package: "github.com/zalando/skipper/cmd/skipper",
			Version: skipperVersion, LDFlags: set("main.version", skipperVersion)},
		{Name: "metrics-server", Module: moduleMetrics, Package: "sigs.k8s.io/metrics-server/cmd/metrics-server",
			Version: metricsVersion, LDFlags: set("k8s.io/client-go/pkg/version.gitVersion", metricsVersion)},
	}
}

// storage are the driver of Azure's disks and the programs that go between Kubernetes and a CSI driver.
func storage() []Program {
	const (
		driver      = "sigs.k8s.io/azuredisk-csi-driver/pkg/"
		csi         = "github.com/kubernetes-csi/"
		snapshotter = "v8.3.0"
		small       = "v1.0.0" // our own programs, which speak what those of the same names do
	)
	programs := []Program{
		{Name: "azurediskplugin", Package: driver + "azurediskplugin", Version: diskVersion, LDFlags: set(driver+"azuredisk.driverVersion", diskVersion)},
		{Name: "csi-provisioner", Package: csi + "external-provisioner/v5/cmd/csi-provisioner", Version: "v5.3.0"},
		{Name: "csi-attacher", Package: csi + "external-attacher/v4/cmd/csi-attacher", Version: "v4.12.0"},
		{Name: "csi-resizer", Package: csi + "external-resizer/cmd/csi-resizer", Version: "v1.14.0"},
		{Name: "csi-snapshotter", Package: csi + "external-snapshotter/v8/cmd/csi-snapshotter", Version: snapshotter},
		{Name: "snapshot-controller", Package: csi + "external-snapshotter/v8/cmd/snapshot-controller", Version: snapshotter},
		{Name: "csi-node-driver-registrar", Package: "./csi-node-driver-registrar", Version: small},
		{Name: "livenessprobe", Package: "./livenessprobe", Version: small},
	}
	for i := range programs {
		p := &programs[i]
		p.Module = moduleCSI
		if p.LDFlags == nil {
			p.LDFlags = set("main.version", p.Version)
		}
	}
	return programs
}

// set makes linker flags out of pairs of variable and value.
func set(pairs ...string) []string {
	var flags []string
	for i := 0; i+1 < len(pairs); i += 2 {
		flags = append(flags, "-X="+pairs[i]+"="+pairs[i+1])
	}
	return flags
}

// gitVersion sets the variables that Kubernetes projects keep in a version
// package. The date is fixed: the same inputs give the same binary.
func gitVersion(pkg, version string) []string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return set(
		pkg+".gitVersion", version,
		pkg+".gitMajor", major,
		pkg+".gitMinor", minor,
		pkg+".gitTreeState", "clean",
		pkg+".buildDate", "1970-01-01T00:00:00Z",
	)
}

// kubeFlags make the programs of Kubernetes report their version.
func kubeFlags(version string) []string {
	flags := gitVersion("k8s.io/component-base/version", version)
	return append(flags, set("k8s.io/client-go/pkg/version.gitVersion", version)...)
}

// cloudFlags also set the version with which the Azure client introduces itself.
func cloudFlags() []string {
	return append(kubeFlags(cloudVersion), gitVersion("sigs.k8s.io/cloud-provider-azure/pkg/version", cloudVersion)...)
}
