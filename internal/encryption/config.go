package encryption

import (
	"encoding/base64"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// The Secret with the API server's configuration.
const (
	ConfigSecret = "kas-secret-encryption-config"
	ConfigKey    = "config.yaml"
)

// Sockets of the providers that reach a key vault: one for the key that writes, one for the key that only reads.
const (
	SocketDir     = "/opt"
	ActiveSocket  = SocketDir + "/azurekmsactive.socket"
	BackupSocket  = SocketDir + "/azurekmsbackup.socket"
	kmsTimeout    = "35s"
	kmsAPIVersion = "v2"
)

// Resources that the providers encrypt. Those of OpenShift's own API servers are named, but these have no provider beside them.
var (
	localResources = []string{"secrets"}
	kmsResources   = []string{"secrets", "configmaps", "routes.route.openshift.io", "oauthaccesstokens.oauth.openshift.io", "oauthauthorizetokens.oauth.openshift.io"}
)

// configuration is EncryptionConfiguration of apiserver.config.k8s.io/v1, as far as it is used.
type configuration struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Resources  []resources `json:"resources"`
}

type resources struct {
	Resources []string   `json:"resources"`
	Providers []provider `json:"providers"`
}

type provider struct {
	AESCBC   *aescbc   `json:"aescbc,omitempty"`
	KMS      *kms      `json:"kms,omitempty"`
	Identity *struct{} `json:"identity,omitempty"`
}

type aescbc struct {
	Keys []localKeyEntry `json:"keys"`
}

type localKeyEntry struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

type kms struct {
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"`
	Endpoint   string `json:"endpoint"`
	Timeout    string `json:"timeout"`
}

// Resources that are encrypted with one of the keys, those that the guest's API server stores first.
func Resources(keys ...*Key) []string {
	var all []string
	for _, key := range keys {
		for _, resource := range covered(key) {
			if !slices.Contains(all, resource) {
				all = append(all, resource)
			}
		}
	}
	return all
}

func covered(key *Key) []string {
	switch {
	case key == nil:
		return nil
	case key.AESCBC != nil:
		return localResources
	}
	return kmsResources
}

// Render is the configuration by which the API server writes with one key and can also read what the other wrote; each may be nil.
// The last provider always lets it read what was stored in clear text.
func Render(write, read *Key, vaultType string, byHash func(dataHash string) ([]byte, bool)) ([]byte, error) {
	all := configuration{APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration"}
	for _, resource := range Resources(write, read) {
		providers, err := providersOf(resource, write, read, vaultType, byHash)
		if err != nil {
			return nil, err
		}
		last := len(all.Resources) - 1
		if last >= 0 && sameProviders(all.Resources[last].Providers, providers) {
			all.Resources[last].Resources = append(all.Resources[last].Resources, resource)
			continue
		}
		all.Resources = append(all.Resources, resources{[]string{resource}, providers})
	}
	encoded, err := yaml.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode the encryption configuration: %w", err)
	}
	return encoded, nil
}

func providersOf(resource string, write, read *Key, vaultType string, byHash func(string) ([]byte, bool)) ([]provider, error) {
	var providers []provider
	add := func(key *Key, socket string) error {
		entry, err := providerOf(key, socket, vaultType, byHash)
		providers = append(providers, entry)
		return err
	}
	writes, reads := slices.Contains(covered(write), resource), slices.Contains(covered(read), resource)
	if writes {
		if err := add(write, ActiveSocket); err != nil {
			return nil, err
		}
	} else {
		// The first provider writes: what the writing key does not cover stays, or becomes again, clear text.
		providers = append(providers, provider{Identity: &struct{}{}})
	}
	if reads {
		if err := add(read, BackupSocket); err != nil {
			return nil, err
		}
	}
	if writes {
		providers = append(providers, provider{Identity: &struct{}{}})
	}
	return providers, nil
}

func providerOf(key *Key, socket, vaultType string, byHash func(string) ([]byte, bool)) (provider, error) {
	if key.Azure != nil {
		return provider{KMS: &kms{kmsAPIVersion, azureProviderName(key.Azure, vaultType), "unix://" + socket, kmsTimeout}}, nil
	}
	content, found := byHash(key.AESCBC.DataHash)
	if !found {
		return provider{}, fmt.Errorf("the content of the encryption key of Secret %q, which Secrets in etcd are encrypted with, is gone; put it back there under key %q",
			key.AESCBC.Secret.Name, hyperv1.AESCBCKeySecretKey)
	}
	return provider{AESCBC: &aescbc{Keys: []localKeyEntry{{localKeyName(content), base64.StdEncoding.EncodeToString(content)}}}}, nil
}

func sameProviders(a, b []provider) bool {
	return slices.EqualFunc(a, b, func(x, y provider) bool {
		switch {
		case x.KMS != nil && y.KMS != nil:
			return *x.KMS == *y.KMS
		case x.AESCBC != nil && y.AESCBC != nil:
			return slices.Equal(x.AESCBC.Keys, y.AESCBC.Keys)
		}
		return x.Identity != nil && y.Identity != nil
	})
}

// KeysIn are the AES-CBC keys of a configuration. The API server's own configuration keeps the content of a key that the user
// replaced inside its Secret, for as long as something is encrypted with it.
func KeysIn(config []byte) ([][]byte, error) {
	var parsed configuration
	if err := yaml.Unmarshal(config, &parsed); err != nil {
		return nil, fmt.Errorf("Secret %s, key %s: %w", ConfigSecret, ConfigKey, err)
	}
	var keys [][]byte
	for _, r := range parsed.Resources {
		for _, p := range r.Providers {
			if p.AESCBC == nil {
				continue
			}
			for _, entry := range p.AESCBC.Keys {
				content, err := base64.StdEncoding.DecodeString(entry.Secret)
				if err != nil {
					return nil, fmt.Errorf("Secret %s, key %s: %s is not base64: %w", ConfigSecret, ConfigKey, entry.Name, err)
				}
				keys = append(keys, content)
			}
		}
	}
	return keys, nil
}

// ByHash finds the content of a key among several.
func ByHash(keys [][]byte) func(string) ([]byte, bool) {
	return func(hash string) ([]byte, bool) {
		for _, key := range keys {
			if len(key) == KeySize && dataHash(key) == hash {
				return key, true
			}
		}
		return nil, false
	}
}

// Hash of a configuration, by which a pod tells which one it runs with.
func Hash(config []byte) string { return dataHash(config)[:16] }
