package cluster

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/supervise"
)

// Names of the parts.
const (
	Azure             = "azure"
	Machines          = "machines"
	Registry          = "registry"
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

// Programs lists the built programs that the parts run, in the names of
// package build.
func Programs() []string {
	return []string{"etcd", "kube", "registry", "coredns", "local-path-provisioner", "azure-cloud-controller-manager",
		"bridge", "loopback", "host-local", "portmap", "pause"}
}

// AzurePart is the embedded Azure. On the edge it listens in addition to
// 127.0.0.1, with or without a management cluster, so that one can be added
// without a restart.
func (c Config) AzurePart(edge bool) supervise.Part {
	part := supervise.Part{
		// A small heap is worth more here than the time of collecting it more often.
		Name: Azure, Argv: c.self(Azure), Env: append(c.selfEnv(), "GOGC=50"), Grace: 3 * time.Second,
		Ready:   supervise.Probe{Socket: c.path("azure", "admin.sock"), TCP: "127.0.0.1:" + ProxyPort},
		Address: LocalProxyURL,
	}
	if edge {
		part.Argv = append(part.Argv, "--edge")
		part.Address += ", " + ProxyURL
	}
	return part
}

// self is the command of a part that this program is.
func (c Config) self(part string) []string {
	return []string{c.Self, "sandbox", "run", part, "--dir", c.Dir}
}

// selfWithTools is the same for parts that start other programs.
func (c Config) selfWithTools(part string) []string {
	return append(c.self(part), "--bin", c.Bin, "--debian", c.Debian)
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
	parts := []supervise.Part{
		c.AzurePart(true),
		{
			Name: Registry, Argv: []string{c.bin("registry"), "serve", c.path("registry", "config.yml")},
			Env:   []string{"OTEL_TRACES_EXPORTER=none"},
			Ready: supervise.Probe{URL: "https://" + RegistryAddr + "/", CA: c.CA()},
			Grace: 2 * time.Second, Address: "https://quay.io (" + RegistryAddr + ")",
		},
		{
			Name: etcd, Argv: c.etcdArgs(), Grace: 5 * time.Second, Address: "https://127.0.0.1:2379",
			Ready: supervise.Probe{URL: "http://127.0.0.1:2381/health"},
		},
		{
			Name: APIServer, Argv: c.apiServerArgs(), After: []string{etcd}, Address: APIURL,
			Ready: supervise.Probe{URL: APIURL + "/readyz", CA: c.pki("ca.crt")},
		},
		{
			Name: Containerd, Argv: []string{c.debian("containerd"), "-c", c.cluster("containerd.toml")},
			Env:   append(c.proxyEnv(), "PATH="+c.debian("")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
			Ready: supervise.Probe{Socket: c.containerdSocket()}, Address: c.containerdSocket(),
		},
		{
			Name: Machines, Argv: c.selfWithTools(Machines), Env: c.selfEnv(), After: []string{Azure}, Grace: 3 * time.Second,
		},
	}
	return append(parts, c.kubernetesParts()...)
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
			Ready: healthy("http://127.0.0.1:10248/healthz"), Address: EdgeIP + ":10250",
		},
		{
			Name: kubeProxy, Argv: []string{c.bin("kube-proxy"), "--config=" + c.cluster("kube-proxy.yaml")},
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
		Ready: supervise.Probe{TCP: RouterIP + ":443"}, Address: "https://*." + AppsDomain,
	})
}

func (c Config) etcdArgs() []string {
	return []string{c.bin("etcd"), "--name=" + NodeName, "--data-dir=" + c.cluster("etcd"),
		"--listen-client-urls=https://127.0.0.1:2379", "--advertise-client-urls=https://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=" + NodeName + "=http://127.0.0.1:2380", "--listen-metrics-urls=http://127.0.0.1:2381",
		"--cert-file=" + c.pki("etcd.crt"), "--key-file=" + c.pki("etcd.key"),
		"--client-cert-auth", "--trusted-ca-file=" + c.pki("ca.crt"),
		"--auto-compaction-mode=periodic", "--auto-compaction-retention=30m", "--log-level=warn"}
}

func (c Config) apiServerArgs() []string {
	return []string{c.bin("kube-apiserver"),
		"--etcd-servers=https://127.0.0.1:2379", "--etcd-cafile=" + c.pki("ca.crt"),
		"--etcd-certfile=" + c.pki("admin.crt"), "--etcd-keyfile=" + c.pki("admin.key"),
		"--bind-address=" + EdgeIP, "--advertise-address=" + EdgeIP, "--secure-port=" + apiPort,
		"--service-cluster-ip-range=" + serviceCIDR,
		"--service-account-issuer=" + IssuerURL, "--service-account-issuer=" + oldIssuer, "--service-account-jwks-uri=" + IssuerURL + issuerKeys,
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
		"--cluster-cidr=" + podCIDR, "--allocate-node-cidrs=false", "--service-cluster-ip-range=" + serviceCIDR,
		"--bind-address=127.0.0.1", "--profiling=false"}
}

// cloudControllerArgs run the services' half of Azure's cloud-controller-manager:
// the node's half has nothing to tell about a node that is the sandbox itself.
func (c Config) cloudControllerArgs() []string {
	kubeconfig := c.clientKubeconfig("cloud")
	return []string{c.bin("azure-cloud-controller-manager"), "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--cloud-provider=azure", "--cloud-config=" + c.cloudConfigPath(), "--cluster-name=" + ManagementGroup,
		"--controllers=service", "--configure-cloud-routes=false", "--allocate-node-cidrs=false", "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port=10258", "--use-service-account-credentials=false", "--v=2"}
}

// kubeletCommand is what runs in the Kubelet's own mount namespace.
func (c Config) kubeletCommand() []string {
	return []string{c.bin("kubelet"), "--config=" + c.cluster("kubelet.yaml"), "--kubeconfig=" + c.clientKubeconfig("kubelet"),
		"--hostname-override=" + NodeName, "--node-ip=" + EdgeIP, "--root-dir=" + c.cluster("kubelet"),
		"--cert-dir=" + c.cluster("kubelet", "pki"),
		"--node-labels=topology.kubernetes.io/region=" + Location + ",topology.kubernetes.io/zone=" + Location + "-1,node.kubernetes.io/instance-type=" + hostVMSize}
}
