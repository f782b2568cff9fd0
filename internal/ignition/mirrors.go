package ignition

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

const (
	kindDigestMirrors = "ImageDigestMirrorSet"
	kindSourcePolicy  = "ImageContentSourcePolicy"
	kindImagePolicy   = "ClusterImagePolicy"
	// runtimeRegistries is where containerd looks for a directory named like a registry.
	runtimeRegistries = "/etc/containerd/certs.d/"
	payloadMirrors    = "/etc/kubernetes/payload-mirrors"
)

// MirrorDocument is what tells nodes of the mirrors that a hosted cluster names; empty when it names none.
func MirrorDocument(sources []hyperv1.ImageContentSource) (string, error) {
	if len(sources) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": mirrorKinds[kindDigestMirrors] + "/v1", "kind": kindDigestMirrors,
		"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"imageDigestMirrors": sources},
	})
	if err != nil {
		return "", fmt.Errorf("encode the image content sources: %w", err)
	}
	return string(raw), nil
}

// mirrorsOf reads the mirrors of a document; those of another kind have none.
func mirrorsOf(manifest Manifest) ([]release.Mirror, error) {
	field := map[string]string{kindDigestMirrors: "imageDigestMirrors", kindSourcePolicy: "repositoryDigestMirrors"}[manifest.kind()]
	if field == "" {
		return nil, nil
	}
	raw, err := json.Marshal(object(manifest, "spec")[field])
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s: %w", field, manifest.kind(), err)
	}
	var mirrors []release.Mirror
	if err := json.Unmarshal(raw, &mirrors); err != nil {
		return nil, fmt.Errorf("spec.%s of a document of kind %s is no list of source and mirrors: %w", field, manifest.kind(), err)
	}
	return mirrors, nil
}

// mirrorFiles tell the node where else images lie: payload-fetch by the exact names, the container runtime by registry.
func mirrorFiles(in Input, mirrors []release.Mirror) ([]types.File, error) {
	if len(mirrors) == 0 {
		return nil, nil
	}
	credentials, err := registryEntries(in.PullSecret)
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, key := range []string{imageHyperkube, imagePod, imageAPIProxy, imageCNIPlugins} {
		for _, mirror := range release.MirrorsOf(in.Images[key], mirrors) {
			fmt.Fprintln(&lines, in.Images[key], mirror)
		}
	}
	files := []types.File{file(payloadMirrors, 0o644, lines.String())}
	hosts := runtimeHosts(mirrors)
	for _, registry := range slices.Sorted(maps.Keys(hosts)) {
		// The credentials are in it.
		files = append(files, file(runtimeRegistries+registry+"/hosts.toml", 0o600, hostsFile(registry, hosts[registry], credentials, hasTrust(in.TrustBundle))))
	}
	return files, nil
}

// registryPath is a registry, or repositories of one.
var registryPath = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?)((?:/[a-z0-9][a-z0-9._-]*)*)/?$`)

// runtimeHosts lists the mirrors of each registry in their order. The runtime knows mirrors of whole registries, below which
// repositories keep their path: what a mirror renames is left to the source.
func runtimeHosts(mirrors []release.Mirror) map[string][]string {
	hosts := map[string][]string{}
	for _, m := range mirrors {
		source := registryPath.FindStringSubmatch(m.Source)
		if source == nil {
			continue
		}
		for _, to := range m.Mirrors {
			mirror := registryPath.FindStringSubmatch(to)
			if mirror == nil {
				continue
			}
			prefix, keeps := strings.CutSuffix(mirror[2], source[2])
			if base := mirror[1] + prefix; keeps && !slices.Contains(hosts[source[1]], base) {
				hosts[source[1]] = append(hosts[source[1]], base)
			}
		}
	}
	return hosts
}

// hostsFile is the configuration of one registry. Mirrors serve digests alone: what a tag names is for the source to say.
// The additional authorities are named where there are any; those of the system are trusted beside them.
func hostsFile(registry string, mirrors []string, credentials map[string]string, trusted bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "server = \"https://%s\"\n", registry)
	for _, mirror := range mirrors {
		host, path, below := strings.Cut(mirror, "/")
		address := "https://" + host
		if below {
			address += "/v2/" + path
		}
		fmt.Fprintf(&out, "\n[host.%q]\n  capabilities = [\"pull\"]\n", address)
		if below {
			fmt.Fprintf(&out, "  override_path = true\n")
		}
		if trusted {
			fmt.Fprintf(&out, "  ca = %q\n", trustBundle)
		}
		if basic := nearest(credentials, mirror); basic != "" {
			fmt.Fprintf(&out, "  [host.%q.header]\n    Authorization = \"Basic %s\"\n", address, basic)
		}
	}
	return out.String()
}

// nearest is the entry for the repositories, else for the nearest path above them.
func nearest(credentials map[string]string, path string) string {
	for {
		at := strings.LastIndexByte(path, '/')
		if found := credentials[path]; found != "" || at < 0 {
			return found
		}
		path = path[:at]
	}
}
