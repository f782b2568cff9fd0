package cluster

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"slices"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/cloud"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// oldIssuer is Kubernetes' own; tokens of sandboxes that knew no other stay valid.
const oldIssuer = "https://kubernetes.default.svc"

// Names of the parts.
const (
	Azure             = "azure"
	Machines          = "machines"
	Registry          = "registry"
	OwnRegistry       = "own-registry"
	etcd              = "etcd"
	APIServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	Containerd        = "containerd"
	Kubelet           = "kubelet"
	kubeProxy         = "kube-proxy"
	cloudController   = "cloud-controller-manager"
	Router            = "router"
	Policies          = "network-policies"
)

// Programs of a further node: what keeps it, and its first process.
const (
	ManagementNode     = "management-node"
	ManagementNodeInit = "management-node-init"
)

// NodeFlag comes before the name of a node in the command of one.
const NodeFlag = "--node"

// Programs lists the built programs that the parts run, in the names of
// package build.
func Programs() []string {
	return []string{"etcd", "kube", "registry", "coredns", "local-path-provisioner", "azure-cloud-controller-manager",
		"bridge", "loopback", "host-local", "portmap", "pause"}
}

// ProfileFlag comes before the profile in the command of the embedded Azure.
const ProfileFlag = "--azure-profile"

// AzurePart is the embedded Azure. On the edge it listens in addition to
// 127.0.0.1, with or without a management cluster, so that one can be added
// without a restart.
func (c Config) AzurePart(edge bool) supervise.Part {
	part := supervise.Part{
		// A small heap is worth more here than the time of collecting it more often.
		Name: Azure, Argv: c.self(Azure), Env: append(c.selfEnv(), "GOGC=50"), Grace: 3 * time.Second,
		Ready:   supervise.Probe{Socket: c.path("azure", "admin.sock"), TCP: "127.0.0.1:" + names.ProxyPort},
		Address: names.LocalProxyURL,
	}
	if c.AzureProfile != "" {
		part.Argv = append(part.Argv, ProfileFlag, c.AzureProfile)
	}
	if edge {
		part.Argv = append(part.Argv, "--edge")
		part.Address += ", " + names.ProxyURL
	}
	return part
}

// self is the command of a part that this program is.
func (c Config) self(part string) []string {
	return []string{c.Self, "sandbox", "run", part, "--dir", c.Dir}
}

// selfWithTools is the same for parts that start other programs.
func (c Config) selfWithTools(part string) []string {
	return append(c.self(part), "--bin", c.Bin, "--debian", c.Debian, "--system", c.System)
}

// Build identifies this program by the linker's build id: building the same sources again is no other program, and does
// not restart anything.
func (c Config) Build() string {
	program, err := elf.Open(c.Self)
	if err != nil {
		return "unknown"
	}
	defer program.Close()
	note := program.Section(".note.go.buildid")
	if note == nil {
		return "unknown"
	}
	id, err := note.Data()
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%x", sha256.Sum256(id))
}

// selfEnv changes with the program, so that a new build of it is a new
// definition of its parts.
func (c Config) selfEnv() []string { return []string{"HYPERSHIFT_SANDBOX_BUILD=" + c.Build()} }

// Parts lists all processes, each after those it needs.
func (c Config) Parts() []supervise.Part {
	containerd, containerdEnv := c.containerdCommand()
	parts := append([]supervise.Part{
		c.AzurePart(true),
		{
			Name: etcd, Argv: c.etcdArgs(), Grace: 5 * time.Second, Address: "https://127.0.0.1:2379",
			Ready: supervise.Probe{URL: "http://127.0.0.1:2381/health"},
		},
		{
			Name: APIServer, Argv: c.apiServerArgs(), After: []string{etcd}, Address: names.APIURL,
			Ready: supervise.Probe{URL: names.APIURL + "/readyz", CA: c.pki("ca.crt")},
		},
		{
			Name: Containerd, Argv: containerd, Env: containerdEnv,
			Ready: supervise.Probe{Socket: c.containerdSocket()}, Address: c.containerdSocket(),
		},
		{
			Name: Machines, Argv: c.selfWithTools(Machines), Env: c.selfEnv(), After: []string{Azure}, Grace: 3 * time.Second,
		},
	}, c.registryParts()...)
	return slices.Concat(parts, c.kubernetesParts(), c.nodeParts())
}

// kubernetesParts are the clients of the API server.
func (c Config) kubernetesParts() []supervise.Part {
	healthy := func(url string) supervise.Probe { return supervise.Probe{URL: url} }
	parts := []supervise.Part{
		{
			Name: controllerManager, Argv: c.controllerManagerArgs(), After: []string{APIServer},
			Ready: supervise.Probe{TCP: "127.0.0.1:10257"},
		},
		{
			Name: scheduler, After: []string{APIServer}, Ready: supervise.Probe{TCP: "127.0.0.1:10259"},
			Argv: []string{c.bin("kube-scheduler"), "--kubeconfig=" + c.clientKubeconfig("scheduler"),
				"--authentication-kubeconfig=" + c.clientKubeconfig("scheduler"), "--authorization-kubeconfig=" + c.clientKubeconfig("scheduler"),
				"--leader-elect=false", "--bind-address=127.0.0.1", "--profiling=false"},
		},
		{
			Name: Kubelet, Argv: c.selfWithTools(Kubelet), Env: c.selfEnv(), After: []string{APIServer, Containerd},
			Ready: healthy("http://127.0.0.1:10248/healthz"), Address: names.EdgeIP + ":10250",
		},
		{
			Name: kubeProxy, Argv: c.kubeProxyCommand(node{}),
			After: []string{APIServer}, Ready: healthy("http://127.0.0.1:10249/healthz"),
		},
		{
			Name: Policies, Argv: c.self(Policies), Env: c.selfEnv(), After: []string{APIServer}, AfterFile: c.appliedMarker(),
		},
		{
			Name: cloudController, After: []string{APIServer, Azure}, AfterFile: c.appliedMarker(), Env: c.proxyEnv(),
			Argv: c.cloudControllerArgs(), Ready: supervise.Probe{TCP: "127.0.0.1:10258"},
		},
	}
	if c.Plain {
		return parts
	}
	return append(parts, supervise.Part{
		Name: Router, Argv: c.self(Router), Env: c.selfEnv(), After: []string{APIServer}, AfterFile: c.appliedMarker(),
		Ready: supervise.Probe{TCP: names.RouterIP + ":443"}, Address: "https://*." + names.AppsDomain,
	})
}

func (c Config) etcdArgs() []string {
	return []string{c.bin("etcd"), "--name=" + names.NodeName, "--data-dir=" + c.cluster("etcd"),
		"--listen-client-urls=https://127.0.0.1:2379", "--advertise-client-urls=https://127.0.0.1:2379",
		"--listen-peer-urls=https://127.0.0.1:2380", "--initial-advertise-peer-urls=https://127.0.0.1:2380",
		"--initial-cluster=" + names.NodeName + "=https://127.0.0.1:2380", "--peer-cert-file=" + c.pki("etcd.crt"), "--peer-key-file=" + c.pki("etcd.key"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + c.pki("ca.crt"), "--peer-cert-allowed-cn=etcd", "--listen-metrics-urls=http://127.0.0.1:2381",
		"--cert-file=" + c.pki("etcd.crt"), "--key-file=" + c.pki("etcd.key"),
		"--client-cert-auth", "--trusted-ca-file=" + c.pki("ca.crt"),
		"--auto-compaction-mode=periodic", "--auto-compaction-retention=30m", "--log-level=warn"}
}

func (c Config) apiServerArgs() []string {
	return []string{c.bin("kube-apiserver"),
		"--etcd-servers=https://127.0.0.1:2379", "--etcd-cafile=" + c.pki("ca.crt"),
		"--etcd-certfile=" + c.pki("admin.crt"), "--etcd-keyfile=" + c.pki("admin.key"),
		"--bind-address=" + names.EdgeIP, "--advertise-address=" + names.EdgeIP, "--secure-port=" + names.APIPort,
		"--service-cluster-ip-range=" + names.ServiceCIDR,
		"--service-account-issuer=" + cloud.IssuerURL, "--service-account-issuer=" + oldIssuer, "--service-account-jwks-uri=" + cloud.IssuerKeysURL,
		"--service-account-signing-key-file=" + c.pki("sa.key"), "--service-account-key-file=" + c.pki("sa.pub"),
		"--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		"--client-ca-file=" + c.pki("ca.crt"),
		"--kubelet-client-certificate=" + c.pki("apiserver-kubelet.crt"), "--kubelet-client-key=" + c.pki("apiserver-kubelet.key"),
		"--kubelet-certificate-authority=" + c.pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + c.pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.pki("front-proxy.crt"), "--proxy-client-key-file=" + c.pki("front-proxy.key"),
		"--enable-aggregator-routing=true", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--allow-privileged=true", "--profiling=false"}
}

func (c Config) controllerManagerArgs() []string {
	kubeconfig := c.clientKubeconfig("controller-manager")
	return []string{c.bin("kube-controller-manager"), "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false", "--use-service-account-credentials", "--root-ca-file=" + c.pki("ca.crt"),
		"--service-account-private-key-file=" + c.pki("sa.key"),
		"--cluster-signing-cert-file=" + c.pki("ca.crt"), "--cluster-signing-key-file=" + c.pki("ca.key"),
		"--cluster-cidr=" + names.PodCIDR, "--allocate-node-cidrs=false", "--service-cluster-ip-range=" + names.ServiceCIDR,
		"--bind-address=127.0.0.1", "--profiling=false"}
}

// cloudControllerArgs run the services' half of Azure's cloud-controller-manager:
// the node's half has nothing to tell about a node that is the sandbox itself.
func (c Config) cloudControllerArgs() []string {
	kubeconfig := c.clientKubeconfig("cloud")
	return []string{c.bin("azure-cloud-controller-manager"), "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--cloud-provider=azure", "--cloud-config=" + c.cloudConfigPath(), "--cluster-name=" + names.ManagementGroup,
		"--controllers=service", "--configure-cloud-routes=false", "--allocate-node-cidrs=false", "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=10258", "--use-service-account-credentials=false", "--v=2"}
}

// kubeletCommand is what runs in the Kubelet's own mount namespace.
func (c Config) kubeletCommand(n node) []string {
	labels := "topology.kubernetes.io/region=" + names.Location + ",topology.kubernetes.io/zone=" + n.zone() + ",node.kubernetes.io/instance-type=" + cloud.HostVMSize
	if n.index > 0 {
		labels += "," + excludeFromBalancers + "="
	}
	return []string{c.bin("kubelet"), "--config=" + c.kubeletConfig(n), "--kubeconfig=" + c.clientKubeconfig(n.credential()),
		"--hostname-override=" + n.name(), "--node-ip=" + n.address(), "--root-dir=" + c.cluster("kubelet"),
		"--cert-dir=" + c.cluster("kubelet", "pki"), "--node-labels=" + labels}
}

// kubeProxyCommand is the proxy of a node.
func (c Config) kubeProxyCommand(n node) []string {
	return []string{c.bin("kube-proxy"), "--config=" + c.kubeProxyConfig(n)}
}

// containerdCommand runs on every node, and finds that node's directories where its configuration names them.
func (c Config) containerdCommand() (argv, env []string) {
	return []string{c.debian("containerd"), "-c", c.cluster("containerd.toml")},
		append(c.proxyEnv(), "PATH="+c.debian("")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}

// nodeParts are the further nodes.
func (c Config) nodeParts() []supervise.Part {
	var parts []supervise.Part
	for _, n := range c.furtherNodes() {
		parts = append(parts, supervise.Part{
			Name: n.name(), Argv: append(c.selfWithTools(ManagementNode), NodeFlag, n.name()), Env: c.selfEnv(), After: []string{APIServer, Registry},
			Ready: supervise.Probe{URL: "http://" + n.healthAddress() + ":10248/healthz"}, Address: n.address() + ":10250",
		})
	}
	return parts
}
