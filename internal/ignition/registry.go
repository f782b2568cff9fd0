package ignition

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
)

// registryAuthDir holds the credentials of the pull secret, one file for each entry in a directory of its name; the script
// registry-hosts looks the nearest one up.
const registryAuthDir = "/etc/kubernetes/registry-auth/"

// registryEntry is a registry or one of its repositories; a part of it becomes the name of a directory.
var registryEntry = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

func registryCredentials(pullSecret []byte) ([]types.File, error) {
	entries, err := registryEntries(pullSecret)
	if err != nil {
		return nil, err
	}
	var files []types.File
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		files = append(files, file(registryAuthDir+name+"/basic", 0o600, entries[name]))
	}
	return files, nil
}

// registryEntries are the credentials of HTTP's basic kind by registry, or repositories of one.
func registryEntries(pullSecret []byte) (map[string]string, error) {
	var secret struct {
		Auths map[string]struct {
			Auth, Username, Password string
		} `json:"auths"`
	}
	if err := json.Unmarshal(pullSecret, &secret); err != nil {
		return nil, errors.New("the pull secret is no dockerconfigjson; replace the Secret that the HostedCluster names in spec.pullSecret")
	}
	entries := map[string]string{}
	for _, registry := range slices.Sorted(maps.Keys(secret.Auths)) {
		entry := secret.Auths[registry]
		auth := entry.Auth
		if auth == "" && entry.Username != "" {
			auth = base64.StdEncoding.EncodeToString([]byte(entry.Username + ":" + entry.Password))
		}
		if _, err := base64.StdEncoding.DecodeString(auth); auth == "" || err != nil {
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(registry, "https://"), "http://")
		// some clients write the registry with the path of its API
		if host, path, _ := strings.Cut(name, "/"); path == "v1/" || path == "v2/" {
			name = host
		}
		if name = strings.TrimSuffix(name, "/"); registryEntry.MatchString(name) {
			entries[name] = auth
		}
	}
	return entries, nil
}
