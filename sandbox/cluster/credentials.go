package cluster

import (
	"encoding/base64"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/wholefile"
)

// ensureClusterPKI makes the certificates of the management cluster and a
// kubeconfig for each of its clients.
func (c Config) ensureClusterPKI() error {
	if err := os.MkdirAll(c.cluster("pki"), 0o700); err != nil {
		return err
	}
	ca, err := pki.EnsureCA(c.pki("ca"), "hypershift sandbox management cluster")
	if err != nil {
		return err
	}
	front, err := pki.EnsureCA(c.pki("front-proxy-ca"), "hypershift sandbox front proxy")
	if err != nil {
		return err
	}
	local := []string{"127.0.0.1", "localhost"}
	servers := map[string]pki.Identity{
		"etcd": {Name: "etcd", Hosts: local},
		"apiserver": {Name: "kube-apiserver", Hosts: append(local, names.EdgeIP, names.APIServiceIP, "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "api."+names.ManagementDomain)},
		"apiserver-kubelet": {Name: "kube-apiserver-kubelet-client", Group: "system:masters"},
	}
	for _, n := range c.allNodes() {
		servers[n.credential()] = n.identity()
	}
	for name, id := range clients {
		servers[name] = id
	}
	for name, id := range servers {
		if err := ca.Issue(c.pki(name), id); err != nil {
			return err
		}
	}
	if err := front.Issue(c.pki("front-proxy"), pki.Identity{Name: "front-proxy-client"}); err != nil {
		return err
	}
	if err := pki.EnsureServiceAccountKey(c.pki("sa")); err != nil {
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
var clients = map[string]pki.Identity{
	"admin":              {Name: "sandbox-admin", Group: "system:masters"},
	"controller-manager": {Name: "system:kube-controller-manager"},
	"scheduler":          {Name: "system:kube-scheduler"},
	"proxy":              {Name: "system:kube-proxy"},
	"cloud":              {Name: "sandbox-cloud-controller-manager"},
	"router":             {Name: "sandbox-router"},
	"policies":           {Name: "sandbox-policies"},
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
			"server": names.APIURL, "certificate-authority-data": encode(files["ca.crt"])}}},
		"users": []any{map[string]any{"name": client, "user": map[string]any{
			"client-certificate-data": encode(files[client+".crt"]), "client-key-data": encode(files[client+".key"])}}},
		"contexts": []any{map[string]any{"name": "hypershift-sandbox", "context": map[string]any{
			"cluster": "hypershift-sandbox", "user": client}}},
	})
	if err != nil {
		return err
	}
	return wholefile.WriteIfChanged(path, text, 0o600)
}
