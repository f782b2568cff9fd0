// Package cluster is the management cluster of the sandbox: the processes of a
// Kubernetes of one or several nodes, its network, what is applied to it, and the OpenShift
// APIs it shows.
package cluster

import (
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/pki"
)

// Config says where things are.
type Config struct {
	Dir    string // the sandbox's directory, absolute
	Bin    string // built parts
	Debian string // containerd and runc, unpacked from Debian's packages
	System string // packages of the virtual machines' operating systems, unpacked
	Self   string // this program
	// Nodes is how many nodes the management cluster has; 0 is 1.
	Nodes int
	// Plain leaves out what only OpenShift has: its APIs, the router of Routes, the injected trust bundle.
	Plain bool
	// AzureProfile is how long what Azure has accepted takes to show, "" for the default of the embedded Azure.
	AzureProfile string
}

func (c Config) path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

func (c Config) cluster(elements ...string) string {
	return c.path(append([]string{"cluster"}, elements...)...)
}

func (c Config) pki(name string) string { return c.cluster("pki", name) }

// Kubeconfig is the administrator's.
func (c Config) Kubeconfig() string { return c.cluster("kubeconfig") }

// CA is the certificate that everything in the sandbox trusts.
func (c Config) CA() string { return pki.CA(c.Dir) }

// Bundle is the system's roots and the sandbox's CA.
func (c Config) Bundle() string { return c.path("pki", "bundle.pem") }

// CredentialsFile is the service principal's, in the form the product reads.
func (c Config) CredentialsFile() string { return cloud.CredentialsFile(c.Dir) }

// PullSecretFile is what the user passes to the product.
func (c Config) PullSecretFile() string { return c.path("files", "pull-secret.json") }

// runDir holds sockets, whose paths must be short, and nothing that must
// outlive a boot.
func (c Config) runDir() string { return "/run/hypershift-sandbox" }

func (c Config) containerdSocket() string { return c.runDir() + "/containerd.sock" }

func (c Config) bin(name string) string { return filepath.Join(c.Bin, name) }

func (c Config) debian(name string) string { return filepath.Join(c.Debian, "bin", name) }

// proxyEnv makes a process reach Azure and quay.io in the sandbox.
func (c Config) proxyEnv() []string {
	return []string{"HTTPS_PROXY=" + names.ProxyURL, "NO_PROXY=" + names.NoProxy, "SSL_CERT_FILE=" + c.Bundle()}
}

func (c Config) cloudConfigPath() string { return c.cluster("cloud.conf") }
