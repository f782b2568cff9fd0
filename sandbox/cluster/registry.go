package cluster

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/crypto/bcrypt"
	"sigs.k8s.io/yaml"
)

// registryUser is who the pull secret belongs to.
const registryUser = "sandbox"

// registryHosts are the names under which the registry is reached.
var registryHosts = []string{"quay.io", "cdn.quay.io", "localhost", "127.0.0.1"}

// RegistryCredentials returns user and password of the registry.
func (c Config) RegistryCredentials() (user, password string, err error) {
	text, err := os.ReadFile(c.path("registry", "password"))
	return registryUser, string(text), err
}

// ensureRegistry writes configuration, certificate, password and the pull
// secret made of it.
func (c Config) ensureRegistry() error {
	for _, dir := range []string{c.path("registry", "storage"), c.path("registry", "tls"), c.path("files")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	ca, err := loadCA(c.path("pki", "ca"))
	if err != nil {
		return err
	}
	if err := ca.issue(c.path("registry", "tls", "registry"), identity{name: "quay.io", hosts: registryHosts}); err != nil {
		return err
	}
	password, err := ensureSecret(c.path("registry", "password"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.path("registry", "htpasswd")); errors.Is(err, fs.ErrNotExist) {
		// The cost is low because the password is random and every pull
		// of every layer is checked against it.
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			return err
		}
		if err := writeIfChanged(c.path("registry", "htpasswd"), []byte(registryUser+":"+string(hash)+"\n"), 0o600); err != nil {
			return err
		}
	}
	secret, err := pullSecret(registryUser, password)
	if err != nil {
		return err
	}
	if err := writeIfChanged(c.PullSecretFile(), secret, 0o600); err != nil {
		return err
	}
	config, err := c.registryConfig()
	if err != nil {
		return err
	}
	return writeIfChanged(c.path("registry", "config.yml"), config, 0o600)
}

func (c Config) registryConfig() ([]byte, error) {
	secret, err := ensureSecret(c.path("registry", "secret"))
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]any{
		"version": "0.1",
		"log":     map[string]any{"level": "warn", "accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{
			"filesystem":  map[string]any{"rootdirectory": c.path("registry", "storage")},
			"delete":      map[string]any{"enabled": true},
			"maintenance": map[string]any{"uploadpurging": map[string]any{"enabled": false}},
		},
		"http": map[string]any{
			"addr": RegistryAddr, "secret": secret, "relativeurls": true,
			"tls": map[string]any{
				"certificate": c.path("registry", "tls", "registry.crt"),
				"key":         c.path("registry", "tls", "registry.key"),
			},
		},
		"auth": map[string]any{"htpasswd": map[string]any{"realm": "quay.io", "path": c.path("registry", "htpasswd")}},
	})
}

// pullSecret has the form of the one that OpenShift users know.
func pullSecret(user, password string) ([]byte, error) {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return json.Marshal(map[string]any{"auths": map[string]any{
		"quay.io": map[string]string{"auth": auth, "email": "sandbox@" + BaseDomain},
	}})
}

// ensureSecret returns the random content of a file, which it makes.
func ensureSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		return string(text), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("random number: %w", err)
	}
	secret := hex.EncodeToString(random)
	return secret, writeIfChanged(path, []byte(secret), 0o600)
}
