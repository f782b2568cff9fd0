package payload

import (
	"archive/tar"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/hypershift-on-azure/hypershift/images"
)

// documented are the keys that hosted clusters on Azure need of an OpenShift payload.
var documented = strings.Fields(`baremetal-runtimecfg keepalived-ipfailover oauth-proxy rhel-coreos apiserver-network-proxy azure-cloud-controller-manager azure-cloud-node-manager azure-cluster-api-controllers azure-disk-csi-driver
	azure-disk-csi-driver-operator azure-file-csi-driver azure-file-csi-driver-operator azure-kms-encryption-provider azure-workload-identity-webhook cli
	cloud-network-config-controller cluster-autoscaler cluster-authentication-operator cluster-capi-controllers cluster-config-api
	cluster-cloud-controller-manager-operator cluster-csi-snapshot-controller-operator cluster-dns-operator cluster-etcd-operator
	cluster-image-registry-operator cluster-ingress-operator cluster-machine-approver cluster-network-operator cluster-node-tuning-operator
	cluster-policy-controller cluster-storage-operator cluster-version-operator coredns csi-external-attacher csi-external-provisioner csi-external-resizer
	csi-external-snapshotter csi-livenessprobe csi-node-driver-registrar csi-snapshot-controller deployer docker-builder docker-registry
	container-networking-plugins egress-router-cni etcd haproxy-router hyperkube hypershift metallb-frr kube-proxy kube-rbac-proxy
	kube-storage-version-migrator machine-config-operator multus-admission-controller multus-cni multus-networkpolicy multus-route-override-cni
	multus-whereabouts-ipam-cni network-interface-bond-cni network-metrics-daemon networking-console-plugin oauth-apiserver oauth-server
	openshift-apiserver openshift-controller-manager operator-lifecycle-manager operator-registry ovn-kubernetes pod route-controller-manager tools
	volume-data-source-validator`)

// started are programs by image key, at the paths that OpenShift's images have them.
var started = map[string][]string{
	"hyperkube": {"usr/bin/hyperkube", "bin/kube-controller-manager", "bin/kube-scheduler"}, "apiserver-network-proxy": {"usr/bin/proxy-agent", "bin/proxy-server"},
	"azure-cluster-api-controllers": {"bin/manager"}, "openshift-apiserver": {"usr/bin/openshift-apiserver", "bin/bash", "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"},
	"operator-lifecycle-manager": {"bin/olm", "bin/catalog", "bin/package-server", "bin/collect-profiles", "bin/copy-content"}, "cli": {"usr/bin/oc", "usr/bin/curl", "usr/bin/nslookup", "bin/bash"},
	"oauth-apiserver": {"usr/bin/oauth-apiserver"}, "oauth-server": {"usr/bin/oauth-server"}, "cluster-autoscaler": {"usr/bin/cluster-autoscaler"},
	"machine-config-operator": {"usr/bin/machine-config-operator", "usr/bin/machine-config-controller", "usr/bin/machine-config-server", "etc/mcc/templates/common/_base/files/twin.yaml"},
	"cluster-config-api":      {"usr/bin/render", "bin/bash", "usr/share/twin/featuregates/featureGate-Hypershift-Default.yaml"}, "kube-storage-version-migrator": {"bin/migrator"},
	"cluster-authentication-operator": {"usr/bin/authentication-operator"}, "cluster-version-operator": {"usr/bin/cluster-version-operator", "usr/share/twin/omitted.txt"},
	"cluster-network-operator": {"usr/bin/cluster-network-operator"}, "cluster-image-registry-operator": {"usr/bin/cluster-image-registry-operator", "usr/bin/curl", "bin/bash"},
}

// paths of what an image has.
func paths(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	reader := mutate.Extract(image)
	defer reader.Close()
	out := map[string]string{}
	for files := tar.NewReader(reader); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(header.Name, "/")] = header.Linkname + string(raw)
	}
}

// A twin has every image of OpenShift's, with programs where OpenShift's are, and says everywhere that it is one.
func TestTwin(t *testing.T) {
	for release, entry := range map[string]string{"4.18.3": "bin/cluster-api-controller-manager", "4.21.0": "manager", "5.0.1": "manager"} {
		t.Run(release, func(t *testing.T) {
			store := testStore(t)
			p, list := testTwin(t, store, release)
			for _, key := range documented {
				if p.Components[key].Name == "" {
					t.Errorf("there is no image %s", key)
				}
			}
			if has := p.Components["haproxy-router-haproxy32"].Name != ""; has != strings.HasPrefix(release, "5.") {
				t.Errorf("haproxy-router-haproxy32 is there: %v", has)
			}
			for key, want := range started {
				have := paths(t, list[key])
				for _, path := range want {
					if _, there := have[path]; !there {
						t.Errorf("image %s has no %s", key, path)
					}
				}
			}
			config, err := list["cluster-capi-controllers"].ConfigFile()
			if err != nil || !slices.Equal(config.Config.Entrypoint, []string{"/" + entry}) || paths(t, list["cluster-capi-controllers"])[entry] == "" {
				t.Errorf("Cluster API is started as %v: %v", config.Config.Entrypoint, err)
			}
			if mark := paths(t, list["oauth-server"])["usr/share/twin/image.json"]; mark != `{"key":"oauth-server","release":"`+release+`"}` {
				t.Errorf("the image says that it is %s", mark)
			}
		})
	}
}

// The release image has what prepare-payload copies and the version operator applies.
func TestTwinRelease(t *testing.T) {
	store := testStore(t)
	p, _ := testTwin(t, store, "4.22.0")
	made, err := p.release(store, map[string]string{"etcd": "q/r@sha256:1"}, "q/release:1")
	if err != nil {
		t.Fatal(err)
	}
	have := paths(t, made.Image.(v1.Image))
	for _, path := range []string{"bin/bash", "bin/sed", "manifests/0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml",
		"manifests/0000_00_cluster-version-operator_03_deployment.yaml", "release-manifests/image-references", "release-manifests/release-metadata",
		"release-manifests/0000_50_olm_02-services.yaml", "release-manifests/0000_50_ingress_00_ingresscontrollers.crd.yaml", bootImagesFile} {
		if _, there := have[path]; !there {
			t.Errorf("the release image has no %s", path)
		}
	}
}

func TestTwinOf(t *testing.T) {
	for release, want := range map[string]string{"4.21.0": "", "5.0.7": "", "4.20.0": "4.18, 4.21, 4.22, 5.0", "4.21": "no version"} {
		if _, err := TwinOf(release); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", release, err, want)
		}
	}
}

// testTwin is a twin of files that stand for programs, with its images.
func testTwin(t *testing.T, store *images.Store, release string) (*Payload, map[string]v1.Image) {
	t.Helper()
	v, err := TwinOf(release)
	if err != nil {
		t.Fatal(err)
	}
	in := testInputs(t, "amd64")
	write(t, filepath.Join(in.Own, twinProgram), "twin")
	p, err := Config{Versions: v, Twin: true, Archs: []string{"amd64"}, OwnVersion: "v1", Store: store}.assemble(t.Context(), map[string]Inputs{"amd64": in})
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]v1.Image{}
	for key, artifact := range p.Components {
		list[key] = artifact.Image.(v1.Image)
	}
	return p, list
}
