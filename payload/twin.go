package payload

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/parts/build"
	"github.com/hypershift-on-azure/hypershift/twin/content"
	"github.com/hypershift-on-azure/hypershift/twin/machineconfig"
)

// twinProgram is the checker's file among this project's programs.
const twinProgram = "twin"

// twinKubernetes is the Kubernetes of a twin by the minor version of its release: of those that can be built, the nearest. Its image says
// which one it is.
var twinKubernetes = map[string]string{"4.18": "v1.34.2", "4.21": "v1.34.2", "4.22": "v1.35.1", "5.0": "v1.35.1"}

// TwinMinors are the minor versions of OpenShift that a twin can be of.
func TwinMinors() []string { return slices.Sorted(maps.Keys(twinKubernetes)) }

// TwinOf is what a twin of an OpenShift payload is made of: the community's programs where there are any, else checkers. It shows no more of
// OpenShift than a checker says that it looks at.
func TwinOf(release string) (*Versions, error) {
	v, err := version.ParseSemantic(release)
	if err != nil || v.String() != release {
		return nil, fmt.Errorf("release %q is no version such as 4.21.0", release)
	}
	kubernetes := twinKubernetes[fmt.Sprintf("%d.%d", v.Major(), v.Minor())]
	if kubernetes == "" {
		return nil, fmt.Errorf("there is no twin of OpenShift %s: choose a version of %s", release, strings.Join(TwinMinors(), ", "))
	}
	plain, err := Of("4.21.0")
	if err != nil {
		return nil, err
	}
	return &Versions{APIVersion: APIVersion, Kind: Kind, Release: release, Kubernetes: kubernetes, NodeImages: plain.NodeImages}, nil
}

// checkers are the images of which a checker is the only program, with the paths at which OpenShift's image has it. The first is the image's
// entry point where the key is among entryPoints.
var checkers = map[string][]string{
	"cluster-authentication-operator":          {"usr/bin/authentication-operator"},
	"cluster-autoscaler":                       {"usr/bin/cluster-autoscaler"},
	"cluster-config-api":                       {},
	"cluster-csi-snapshot-controller-operator": {"usr/bin/csi-snapshot-controller-operator"},
	"cluster-dns-operator":                     {"usr/bin/dns-operator"},
	"cluster-image-registry-operator":          {"usr/bin/cluster-image-registry-operator", "usr/bin/curl"}, // which its start asks by
	"cluster-ingress-operator":                 {"usr/bin/ingress-operator"},
	"cluster-machine-approver":                 {"usr/bin/machine-approver"},
	"cluster-network-operator":                 {"usr/bin/cluster-network-operator"},
	"cluster-node-tuning-operator":             {"usr/bin/cluster-node-tuning-operator"},
	"cluster-policy-controller":                {"usr/bin/cluster-policy-controller"},
	"cluster-storage-operator":                 {"usr/bin/cluster-storage-operator"},
	"cluster-version-operator":                 {"usr/bin/cluster-version-operator"},
	"kube-storage-version-migrator":            {"usr/bin/migrator"},
	"machine-config-operator":                  {},
	"oauth-apiserver":                          {"usr/bin/oauth-apiserver"},
	"oauth-server":                             {"usr/bin/oauth-server"},
	"openshift-apiserver":                      {"usr/bin/openshift-apiserver"},
	"openshift-controller-manager":             {"usr/bin/openshift-controller-manager"},
	"operator-lifecycle-manager":               {"bin/olm", "bin/catalog", "bin/package-server", "bin/collect-profiles", "bin/copy-content"},
	"operator-registry":                        {"bin/opm", "bin/grpc_health_probe"},
	"route-controller-manager":                 {"usr/bin/route-controller-manager"},
}

// entryPoints are the checkers that OpenShift's image starts by itself.
var entryPoints = []string{"cluster-csi-snapshot-controller-operator", "cluster-version-operator", "oauth-server", "openshift-apiserver"}

// named are images that nothing here runs: their keys are told to operators, or are of nodes.
var named = []string{
	"azure-disk-csi-driver-operator", "azure-file-csi-driver", "azure-file-csi-driver-operator", "azure-kms-encryption-provider", "cloud-network-config-controller",
	"baremetal-runtimecfg", "cluster-cloud-controller-manager-operator", "cluster-etcd-operator", "deployer", "docker-builder", "docker-registry",
	"egress-router-cni", "keepalived-ipfailover", "kube-rbac-proxy", "metallb-frr", "multus-admission-controller", "multus-cni", "multus-networkpolicy", "multus-route-override-cni",
	"multus-whereabouts-ipam-cni", "network-interface-bond-cni", "network-metrics-daemon", "networking-console-plugin", "oauth-proxy", "ovn-kubernetes", "rhel-coreos",
	"volume-data-source-validator",
}

// onlyPlain are images of a plain payload that OpenShift has not.
var onlyPlain = []string{"skipper", "flannel", "kube-metrics-server"}

// twinSpecs are the images of a twin: those of a plain payload that OpenShift has too, at OpenShift's paths, and checkers.
func (in Inputs) twinSpecs(release, ownVersion string) ([]images.Spec, error) {
	plain, err := in.specs(release, ownVersion)
	if err != nil {
		return nil, err
	}
	shell, err := in.bash()
	if err != nil {
		return nil, err
	}
	v := version.MustParseSemantic(release)
	var specs []images.Spec
	for _, spec := range plain {
		if !slices.Contains(onlyPlain, spec.Name) {
			specs = append(specs, in.asOpenShift(spec, shell, v))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(checkers)) {
		specs = append(specs, in.checker(key, release, shell))
	}
	for _, key := range named {
		specs = append(specs, images.Spec{Name: key, Layers: [][]images.File{images.Base, shell, {mark(key, release)}}})
	}
	if v.AtLeast(version.MajorMinor(5, 0)) {
		router := specs[slices.IndexFunc(specs, func(s images.Spec) bool { return s.Name == "haproxy-router" })]
		for _, key := range []string{"haproxy-router-haproxy28", "haproxy-router-haproxy32"} {
			router.Name = key
			specs = append(specs, router)
		}
	}
	for i := range specs {
		s := &specs[i]
		if s.Name != "hypershift" {
			s.Version, s.Labels = release, map[string]string{"io.openshift.build.name": s.Name}
		}
	}
	return specs, nil
}

// bash is the shell, by the name that scripts of OpenShift's images call it too.
func (in Inputs) bash() ([]images.File, error) {
	files, err := in.shell()
	return append(files, images.File{Path: "bin/bash", Text: "#!/bin/sh\nexec /bin/sh \"$@\"\n", Mode: 0o755}), err
}

// twin is the checker's program, and the names by which an image starts it.
func (in Inputs) twin(paths ...string) [][]images.File {
	var links []images.File
	for _, path := range paths {
		links = append(links, images.File{Path: path, Link: "/usr/bin/twin"})
		if name, below := strings.CutPrefix(path, "usr/bin/"); below { // OpenShift's images have one folder by both names
			links = append(links, images.File{Path: "bin/" + name, Link: "/usr/bin/twin"})
		}
	}
	return [][]images.File{{{Path: "usr/bin/twin", Source: filepath.Join(in.Own, twinProgram)}}, links}
}

// taken are the twin's program as files: who takes programs out of an image takes no links.
func (in Inputs) taken(names ...string) []images.File {
	var files []images.File
	for _, name := range names {
		files = append(files, images.File{Path: "usr/bin/" + name, Source: filepath.Join(in.Own, twinProgram)})
	}
	return files
}

// mark tells a checker in which image of which release it is.
func mark(key, release string) images.File {
	raw, err := json.Marshal(map[string]string{"key": key, "release": release})
	if err != nil { // two strings
		panic(err)
	}
	return images.File{Path: "usr/share/twin/image.json", Text: string(raw), Mode: 0o644}
}

func (in Inputs) checker(key, release string, shell []images.File) images.Spec {
	spec := images.Spec{Name: key, Layers: append([][]images.File{images.Base, shell}, in.twin(checkers[key]...)...)}
	if slices.Contains(entryPoints, key) {
		spec.Entrypoint = []string{"/" + checkers[key][0]}
	}
	own := []images.File{mark(key, release)}
	switch key {
	case machineconfig.ImageKey:
		own = append(own, in.taken(machineconfig.Programs...)...)
		own = append(own, texts("etc/mcc/templates", machineconfig.Templates)...)
	case "cluster-config-api":
		own = append(own, in.taken(machineconfig.Render)...)
		own = append(own, images.File{Path: "bin/" + machineconfig.Render, Link: "/usr/bin/" + machineconfig.Render})
		own = append(own, texts("usr/share/twin/bootstrap", content.Folder("bootstrap"))...)
		own = append(own, texts("usr/share/twin/featuregates", content.Folder("featuregates"))...)
	case "cluster-authentication-operator":
		own = append(own, texts("usr/share/twin/featuregates", content.Folder("featuregates"))...)
	case "cluster-version-operator":
		own = append(own, texts("usr/share/twin", map[string]string{"omitted.txt": strings.Join(content.Omitted(), "\n")})...)
	case "openshift-apiserver":
		own = append(own, texts("etc/pki/ca-trust/extracted/pem", map[string]string{"tls-ca-bundle.pem": ""})...)
	}
	spec.Layers = append(spec.Layers, own)
	return spec
}

func texts(folder string, files map[string]string) []images.File {
	var out []images.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, images.File{Path: folder + "/" + name, Text: files[name], Mode: 0o644})
	}
	return out
}

// asOpenShift is an image of the community's programs with the paths and the entry point that OpenShift's has.
func (in Inputs) asOpenShift(spec images.Spec, shell []images.File, release *version.Version) images.Spec {
	link := func(path, to string) images.File { return images.File{Path: path, Link: to} }
	add := func(layers ...[]images.File) { spec.Layers = append(slices.Clone(spec.Layers), layers...) }
	switch spec.Name {
	case kubernetesKey:
		spec.Layers = [][]images.File{images.Base, {
			{Path: "usr/libexec/twin/kube", Source: in.bin("kube")},
			link("usr/libexec/twin/kube-apiserver", "kube"), link("usr/libexec/twin/kube-controller-manager", "kube"), link("usr/libexec/twin/kube-scheduler", "kube"),
		}}
		add(in.twin("usr/bin/hyperkube", "usr/bin/kube-controller-manager", "usr/bin/kube-scheduler")...)
		add([]images.File{mark(spec.Name, release.String())})
	case "apiserver-network-proxy":
		add([]images.File{link("usr/bin/proxy-agent", "/bin/proxy-agent"), link("usr/bin/proxy-server", "/bin/proxy-server")})
	case "cluster-capi-controllers":
		entry := "manager"
		if !release.AtLeast(version.MajorMinor(4, 21)) {
			entry = "bin/cluster-api-controller-manager"
		}
		spec.Layers, spec.Entrypoint = [][]images.File{images.Base, {{Path: entry, Source: in.bin("cluster-api")}}}, []string{"/" + entry}
	case "azure-cluster-api-controllers":
		spec.Layers = [][]images.File{images.Base, {{Path: "bin/manager", Source: in.bin("cluster-api-provider-azure")}}}
		spec.Entrypoint = []string{"/bin/manager"}
	case "azure-disk-csi-driver", "csi-snapshot-controller": // operands that a checker makes of them do nothing, by the shell
		add(shell)
	case "cli":
		add(shell)
		add(in.twin("usr/bin/curl", "usr/bin/nslookup")...)
		add([]images.File{{Path: "usr/bin/oc", Text: "#!/bin/sh\nexec /bin/kubectl \"$@\"\n", Mode: 0o755}, mark(spec.Name, release.String())})
	}
	return spec
}

// twinFiles are what a release image of OpenShift's has besides: a shell, and the manifests of the version operator and of the release.
func (in Inputs) twinFiles(release string) ([]images.File, error) {
	shell, err := in.bash()
	if err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(map[string]any{"kind": "cincinnati-metadata-v0", "version": release, "previous": []string{}, "metadata": map[string]string{}})
	if err != nil {
		return nil, err
	}
	files := slices.Concat(images.Base, shell, texts("manifests", content.OfOperator()), texts("release-manifests", content.OfRelease()))
	return append(files, images.File{Path: "release-manifests/release-metadata", Text: string(metadata), Mode: 0o644}, mark("release", release)), nil
}

// Catalogs are the catalogs of operators that OpenShift has beside a payload, by the names of their images: a checker serves what is none.
func Catalogs(own string, debian *build.DebianRoot, release string) ([]images.Spec, error) {
	in := Inputs{Own: own, Debian: debian}
	shell, err := in.bash()
	if err != nil {
		return nil, err
	}
	var specs []images.Spec
	for _, name := range []string{"redhat-operator-index", "certified-operator-index", "community-operator-index", "redhat-marketplace-index"} {
		layers := append([][]images.File{images.Base, shell}, in.twin("bin/opm", "bin/grpc_health_probe")...)
		specs = append(specs, images.Spec{Name: name, Version: release, Layers: append(layers, []images.File{mark("operator-registry", release),
			{Path: "configs/twin/catalog.json", Text: `{"schema":"olm.package","name":"twin"}`, Mode: 0o644}, {Path: "tmp/cache/digest", Text: "twin", Mode: 0o644}})})
	}
	return specs, nil
}
