package cluster

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/crypto/bcrypt"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// container is a registry of images: its part, its folder, what it listens on, and the name that clients ask for.
type container struct {
	part, folder, addr, host string
	hosts                    []string // names under which it is reached
	user                     string   // who the pull secret belongs to
}

// containers are the public registry, which the sandbox fills, and one that is the user's own, as an Azure container registry
// would be: it is empty, and what is in it was pushed by hand.
var containers = []container{
	{part: Registry, folder: "registry", addr: names.RegistryAddr, host: "quay.io", hosts: []string{"quay.io", "cdn.quay.io", "localhost", "127.0.0.1"}, user: "sandbox"},
	{part: OwnRegistry, folder: "own-registry", addr: names.OwnRegistryAddr, host: names.OwnRegistryHost, hosts: []string{names.OwnRegistryHost, "localhost", "127.0.0.1"}, user: "own"},
}

// RegistryCredentials returns user and password of the registry that the sandbox fills.
func (c Config) RegistryCredentials() (user, password string, err error) {
	text, err := os.ReadFile(c.path(containers[0].folder, "password"))
	return containers[0].user, string(text), err
}

// ensureRegistries writes configurations, certificates, passwords and the pull secret made of these.
func (c Config) ensureRegistries() error {
	ca, err := pki.Load(c.Dir)
	if err != nil {
		return err
	}
	auths := map[string]any{}
	for _, r := range containers {
		password, err := c.ensureRegistry(ca, r)
		if err != nil {
			return err
		}
		auths[r.host] = map[string]string{
			"auth": base64.StdEncoding.EncodeToString([]byte(r.user + ":" + password)), "email": r.user + "@" + names.BaseDomain,
		}
	}
	secret, err := json.Marshal(map[string]any{"auths": auths}) // in the form that OpenShift users know
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.path("files"), 0o700); err != nil {
		return err
	}
	return wholefile.WriteIfChanged(c.PullSecretFile(), secret, 0o600)
}

// ensureRegistry writes what a registry reads, and returns the password of its user.
func (c Config) ensureRegistry(ca pki.Authority, r container) (string, error) {
	for _, dir := range []string{"storage", "tls"} {
		if err := os.MkdirAll(c.path(r.folder, dir), 0o700); err != nil {
			return "", err
		}
	}
	if err := ca.Issue(c.path(r.folder, "tls", "registry"), pki.Identity{Name: r.host, Hosts: r.hosts}); err != nil {
		return "", err
	}
	password, err := wholefile.EnsureSecret(c.path(r.folder, "password"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(c.path(r.folder, "htpasswd")); errors.Is(err, fs.ErrNotExist) {
		// The cost is low because the password is random and every pull
		// of every layer is checked against it.
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			return "", err
		}
		if err := wholefile.WriteIfChanged(c.path(r.folder, "htpasswd"), []byte(r.user+":"+string(hash)+"\n"), 0o600); err != nil {
			return "", err
		}
	}
	config, err := c.registryConfig(r)
	if err != nil {
		return "", err
	}
	return password, wholefile.WriteIfChanged(c.path(r.folder, "config.yml"), config, 0o600)
}

func (c Config) registryConfig(r container) ([]byte, error) {
	secret, err := wholefile.EnsureSecret(c.path(r.folder, "secret"))
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(map[string]any{
		"version": "0.1",
		"log":     map[string]any{"level": "warn", "accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{
			"filesystem":  map[string]any{"rootdirectory": c.path(r.folder, "storage")},
			"delete":      map[string]any{"enabled": true},
			"maintenance": map[string]any{"uploadpurging": map[string]any{"enabled": false}},
		},
		"http": map[string]any{
			"addr": r.addr, "secret": secret, "relativeurls": true,
			"tls": map[string]any{
				"certificate": c.path(r.folder, "tls", "registry.crt"),
				"key":         c.path(r.folder, "tls", "registry.key"),
			},
		},
		"auth": map[string]any{"htpasswd": map[string]any{"realm": r.host, "path": c.path(r.folder, "htpasswd")}},
	})
}

// registryParts are the registries' processes.
func (c Config) registryParts() []supervise.Part {
	var parts []supervise.Part
	for _, r := range containers {
		parts = append(parts, supervise.Part{
			Name: r.part, Argv: []string{c.bin("registry"), "serve", c.path(r.folder, "config.yml")},
			Env:   []string{"OTEL_TRACES_EXPORTER=none"},
			Ready: supervise.Probe{URL: "https://" + r.addr + "/", CA: c.CA()},
			Grace: 2 * time.Second, Address: "https://" + r.host + " (" + r.addr + ")",
		})
	}
	return parts
}
