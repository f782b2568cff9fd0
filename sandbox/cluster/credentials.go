package cluster

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// ensureClusterPKI makes the certificates of the management cluster and a
// kubeconfig for each of its clients.
func (c Config) ensureClusterPKI() error {
	if err := os.MkdirAll(c.cluster("pki"), 0o700); err != nil {
		return err
	}
	ca, err := ensureCA(c.pki("ca"), "hypershift sandbox management cluster")
	if err != nil {
		return err
	}
	front, err := ensureCA(c.pki("front-proxy-ca"), "hypershift sandbox front proxy")
	if err != nil {
		return err
	}
	local := []string{"127.0.0.1", "localhost"}
	servers := map[string]identity{
		"etcd": {name: "etcd", hosts: local},
		"apiserver": {name: "kube-apiserver", hosts: append(local, EdgeIP, apiServiceIP, "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "api."+ManagementDomain)},
		"apiserver-kubelet": {name: "kube-apiserver-kubelet-client", group: "system:masters"},
	}
	for _, n := range c.allNodes() {
		servers[n.credential()] = n.identity()
	}
	for name, id := range clients {
		servers[name] = id
	}
	for name, id := range servers {
		if err := ca.issue(c.pki(name), id); err != nil {
			return err
		}
	}
	if err := front.issue(c.pki("front-proxy"), identity{name: "front-proxy-client"}); err != nil {
		return err
	}
	if err := ensureServiceAccountKey(c.pki("sa")); err != nil {
		return err
	}
	for name := range clients {
		if err := c.writeKubeconfig(c.clientKubeconfig(name), name); err != nil {
			return err
		}
	}
	for _, n := range c.allNodes() {
		if err := c.writeKubeconfig(c.clientKubeconfig(n.credential()), n.credential()); err != nil {
			return err
		}
	}
	return c.writeKubeconfig(c.Kubeconfig(), "admin")
}

// clients of the API server, with the names its default roles know.
var clients = map[string]identity{
	"admin":              {name: "sandbox-admin", group: "system:masters"},
	"controller-manager": {name: "system:kube-controller-manager"},
	"scheduler":          {name: "system:kube-scheduler"},
	"proxy":              {name: "system:kube-proxy"},
	"cloud":              {name: "sandbox-cloud-controller-manager"},
	"router":             {name: "sandbox-router"},
	"policies":           {name: "sandbox-policies"},
}

func (c Config) clientKubeconfig(client string) string { return c.pki(client + ".kubeconfig") }

// writeKubeconfig writes a kubeconfig with the certificate pki/<client>.
func (c Config) writeKubeconfig(path, client string) error {
	files := map[string][]byte{}
	for _, name := range []string{"ca.crt", client + ".crt", client + ".key"} {
		text, err := os.ReadFile(c.pki(name))
		if err != nil {
			return err
		}
		files[name] = text
	}
	encode := base64.StdEncoding.EncodeToString
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "hypershift-sandbox",
		"clusters": []any{map[string]any{"name": "hypershift-sandbox", "cluster": map[string]any{
			"server": APIURL, "certificate-authority-data": encode(files["ca.crt"])}}},
		"users": []any{map[string]any{"name": client, "user": map[string]any{
			"client-certificate-data": encode(files[client+".crt"]), "client-key-data": encode(files[client+".key"])}}},
		"contexts": []any{map[string]any{"name": "hypershift-sandbox", "context": map[string]any{
			"cluster": "hypershift-sandbox", "user": client}}},
	})
	if err != nil {
		return err
	}
	return writeIfChanged(path, text, 0o600)
}

// writeIfChanged leaves a file alone that has the content already.
func writeIfChanged(path string, text []byte, mode os.FileMode) error {
	if present, err := os.ReadFile(path); err == nil && string(present) == string(text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(temporary, path)
}
