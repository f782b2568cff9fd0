package release

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// keychain answers from a dockerconfigjson: the entry with the longest matching path wins, as kubelets do it.
type keychain map[string]authn.AuthConfig

func parsePullSecret(data []byte) (keychain, error) {
	if len(data) == 0 {
		return keychain{}, nil
	}
	var config struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if json.Unmarshal(data, &config) != nil {
		// The parser's own message may quote the content.
		return nil, errors.New("pull secret is not a dockerconfigjson")
	}
	chain := keychain{}
	for host, entry := range config.Auths {
		auth := authn.AuthConfig{
			Username: entry.Username, Password: entry.Password, IdentityToken: entry.IdentityToken, RegistryToken: entry.RegistryToken,
		}
		if entry.Auth != "" {
			decoded, err := base64.StdEncoding.DecodeString(entry.Auth)
			if err != nil {
				return nil, fmt.Errorf("pull secret: entry %q: auth is not base64", host)
			}
			user, password, ok := strings.Cut(string(decoded), ":")
			if !ok {
				return nil, fmt.Errorf("pull secret: entry %q: auth is not user:password", host)
			}
			auth.Username, auth.Password = user, password
		}
		chain[normaliseHost(host)] = auth
	}
	return chain, nil
}

func normaliseHost(host string) string {
	host = strings.TrimPrefix(strings.TrimPrefix(host, "https://"), "http://")
	host = strings.TrimSuffix(host, "/")
	switch host {
	case "docker.io", "index.docker.io/v1", "registry-1.docker.io":
		return "index.docker.io"
	}
	return host
}

// Resolve implements authn.Keychain.
func (k keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	for path := target.String(); path != ""; {
		if auth, ok := k[path]; ok {
			return authn.FromConfig(auth), nil
		}
		slash := strings.LastIndex(path, "/")
		if slash < 0 {
			break
		}
		path = path[:slash]
	}
	return authn.Anonymous, nil
}
