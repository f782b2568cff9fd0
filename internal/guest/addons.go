package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	konnectivityAgentName = "konnectivity-agent"
	// agentGrace is for commands that are under way.
	agentGrace = 5
	// agentSettles is how long an agent takes to find all servers while one takes the place of another: the agents of two nodes must
	// not be replaced faster, or a server has none for a moment. Not longer: agents that have not settled yet are replaced all at once.
	agentSettles    = 15
	nodeManagerName = "azure-cloud-node-manager"
	proxyName       = "kube-proxy"
	flannelName     = "flannel"
	dnsName         = "coredns"
	accountCA       = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
	accountToken    = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// konnectivityAgent dials out of the guest, so that the control plane reaches kubelets and Services through the tunnel.
func konnectivityAgent(facts *Facts) []client.Object {
	container := corev1.Container{
		Name: konnectivityAgentName, Image: facts.Images["apiserver-network-proxy"], Command: []string{"/bin/proxy-agent"},
		Args: []string{
			"--logtostderr=true",
			"--ca-cert=/etc/konnectivity/ca/ca.crt",
			"--agent-cert=/etc/konnectivity/agent/tls.crt",
			"--agent-key=/etc/konnectivity/agent/tls.key",
			"--proxy-server-host=" + facts.KonnectivityHost,
			"--proxy-server-port=" + strconv.Itoa(int(facts.KonnectivityPort)),
			"--agent-identifiers=default-route=true",
			"--health-server-port=2041",
			"--keepalive-time=30s",
			"--probe-interval=5s",
			// A server that takes the place of another is found while both are there: each attempt finds one of them.
			"--sync-forever=true",
			"--sync-interval=2s",
			"--sync-interval-cap=10s",
			// Not 2: every attempt would be a line.
			"--v=1",
		},
		Resources:    requests("40m", "50Mi"),
		VolumeMounts: []corev1.VolumeMount{readOnly("agent", "/etc/konnectivity/agent"), readOnly("ca", "/etc/konnectivity/ca")},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(2041)}},
			InitialDelaySeconds: 120, PeriodSeconds: 30, TimeoutSeconds: 30, FailureThreshold: 3,
		},
		// Ready once it is connected: its successors may go on with the next node.
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(2041)}},
			PeriodSeconds: 2, TimeoutSeconds: 5, FailureThreshold: 5,
		},
		SecurityContext: unprivileged(),
	}
	pod := corev1.PodSpec{
		// An agent that was told to end takes connections until it is killed, which this version's servers do not notice.
		TerminationGracePeriodSeconds: ptr.To[int64](agentGrace),
		Containers:                    []corev1.Container{container},
		AutomountServiceAccountToken:  ptr.To(false),
		DNSPolicy:                     corev1.DNSDefault,
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), RunAsNonRoot: ptr.To(true), FSGroup: ptr.To[int64](1000)},
		Volumes: []corev1.Volume{
			{Name: "agent", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: konnectivityAgentName, DefaultMode: ptr.To[int32](0o640)}}},
			configVolume("ca", "konnectivity-ca-bundle"),
		},
	}
	agents := daemonSet(konnectivityAgentName, pod)
	agents.Spec.MinReadySeconds = agentSettles
	// An agent reads its credentials when it starts.
	sum := sha256.Sum256([]byte(facts.KonnectivityCA + facts.KonnectivityCert))
	agents.Spec.Template.Annotations = map[string]string{hyperv1.ComponentConfigHashAnnotation: hex.EncodeToString(sum[:])[:16]}
	return []client.Object{
		serviceAccount(konnectivityAgentName),
		&corev1.Secret{ObjectMeta: meta(konnectivityAgentName), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{
			corev1.TLSCertKey: []byte(facts.KonnectivityCert), corev1.TLSPrivateKeyKey: []byte(facts.KonnectivityKey),
		}},
		configMap("konnectivity-ca-bundle", map[string]string{"ca.crt": facts.KonnectivityCA}),
		agents,
	}
}

func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// cloudNodeManager initialises nodes from the metadata service: provider id, addresses, zone; then their taint goes.
func cloudNodeManager(facts *Facts) []client.Object {
	if facts.HCP.Spec.Platform.Azure == nil {
		return nil
	}
	container := corev1.Container{
		Name: nodeManagerName, Image: facts.Images["azure-cloud-node-manager"], Command: []string{"/bin/azure-cloud-node-manager"},
		Args: []string{
			"--node-name=$(NODE_NAME)", "--wait-routes=false", "--use-instance-metadata=true",
			"--enable-deprecated-beta-topology-labels=true", "--v=2",
		},
		Env:             append(apiEnv(facts), fieldEnv("NODE_NAME", "spec.nodeName")),
		Resources:       requests("50m", "50Mi"),
		SecurityContext: unprivileged(),
	}
	return []client.Object{
		serviceAccount(nodeManagerName),
		clusterRole(nodeManagerName,
			rule("", []string{"get", "list", "watch", "update", "patch"}, "nodes"),
			rule("", []string{"patch"}, "nodes/status"),
			rule("", []string{"create", "patch", "update"}, "events"),
		),
		bind(nodeManagerName, nodeManagerName, account(nodeManagerName)),
		daemonSet(nodeManagerName, corev1.PodSpec{Containers: []corev1.Container{container}}),
	}
}

func kubeProxy(facts *Facts) []client.Object {
	container := corev1.Container{
		Name: proxyName, Image: facts.Images["kube-proxy"], Command: []string{"/bin/kube-proxy"},
		Args:            []string{"--config=/etc/kube-proxy/config.yaml", "--hostname-override=$(NODE_NAME)", "--v=2"},
		Env:             []corev1.EnvVar{fieldEnv("NODE_NAME", "spec.nodeName")},
		Resources:       requests("10m", "40Mi"),
		VolumeMounts:    []corev1.VolumeMount{readOnly("config", "/etc/kube-proxy")},
		SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
	}
	return []client.Object{
		serviceAccount(proxyName),
		bind("hypershift:kube-proxy", "system:node-proxier", account(proxyName)),
		configMap(proxyName, map[string]string{"config.yaml": proxyConfig(facts), "kubeconfig": proxyKubeconfig(facts)}),
		daemonSet(proxyName, corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: []corev1.Volume{configVolume("config", proxyName)}}),
	}
}

// Connection tracking limits belong to the kernel, which a node may share: zero leaves them alone.
func proxyConfig(facts *Facts) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: %s
clientConnection:
  kubeconfig: /etc/kube-proxy/kubeconfig
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
`, facts.PodCIDR)
}

func proxyKubeconfig(facts *Facts) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: cluster
  cluster:
    server: https://%s
    certificate-authority: %s
users:
- name: kube-proxy
  user:
    tokenFile: %s
contexts:
- name: context
  context:
    cluster: cluster
    user: kube-proxy
current-context: context
`, net.JoinHostPort(facts.APIAddress, strconv.Itoa(int(facts.APIPort))), accountCA, accountToken)
}

// flannel gives pods of all nodes one network, over VXLAN.
func flannel(facts *Facts) []client.Object {
	image := facts.Images["flannel"]
	install := func(name, script string, mounts ...corev1.VolumeMount) corev1.Container {
		return corev1.Container{Name: name, Image: image, Command: []string{"/bin/sh", "-c", script}, VolumeMounts: mounts, Resources: requests("10m", "16Mi"), SecurityContext: unprivileged()}
	}
	pod := corev1.PodSpec{
		InitContainers: []corev1.Container{
			install("install-plugin", "cp /cni/flannel /opt/cni/bin/flannel.new && mv /opt/cni/bin/flannel.new /opt/cni/bin/flannel", mount("plugins", "/opt/cni/bin")),
		},
		Containers: []corev1.Container{{
			Name: flannelName, Image: image,
			// The network configuration of the runtime appears last: a node is not Ready before its pods can have a network.
			Command: []string{"/bin/sh", "-c",
				"(until [ -s /run/flannel/subnet.env ]; do sleep 0.2; done; cp /etc/kube-flannel/cni-conf.json /etc/cni/net.d/.flannel.new && mv /etc/cni/net.d/.flannel.new /etc/cni/net.d/10-flannel.conflist) & " +
					"exec /bin/flanneld --ip-masq --kube-subnet-mgr"},
			Env:             append(apiEnv(facts), fieldEnv("POD_NAME", "metadata.name"), fieldEnv("POD_NAMESPACE", "metadata.namespace"), fieldEnv("NODE_NAME", "spec.nodeName")),
			Resources:       requests("20m", "50Mi"),
			VolumeMounts:    []corev1.VolumeMount{mount("run", "/run/flannel"), mount("conf", "/etc/cni/net.d"), readOnly("config", "/etc/kube-flannel")},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
		}},
		Volumes: []corev1.Volume{
			hostPath("run", "/run/flannel"), hostPath("plugins", "/opt/cni/bin"), hostPath("conf", "/etc/cni/net.d"), configVolume("config", flannelName),
		},
	}
	return []client.Object{
		serviceAccount(flannelName),
		clusterRole("hypershift:flannel",
			rule("", []string{"get"}, "pods"),
			rule("", []string{"get", "list", "watch"}, "nodes"),
			rule("", []string{"patch"}, "nodes/status"),
		),
		bind("hypershift:flannel", "hypershift:flannel", account(flannelName)),
		configMap(flannelName, map[string]string{"cni-conf.json": flannelCNI, "net-conf.json": flannelNetwork(facts.PodCIDR)}),
		daemonSet(flannelName, pod),
	}
}

const flannelCNI = `{
  "name": "cbr0",
  "cniVersion": "1.0.0",
  "plugins": [
    {"type": "flannel", "delegate": {"hairpinMode": true, "isDefaultGateway": true}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

func flannelNetwork(podCIDR string) string {
	encoded, err := json.Marshal(map[string]any{
		"Network": podCIDR, "EnableNFTables": true, "Backend": map[string]any{"Type": "vxlan"},
	})
	if err != nil { // strings and booleans always encode
		panic(err)
	}
	return string(encoded)
}

func coreDNS(facts *Facts) []client.Object {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: "kube-dns", Labels: map[string]string{"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: facts.DNSAddress, Selector: map[string]string{"k8s-app": "kube-dns"},
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(53)},
			},
		},
	}
	return []client.Object{
		serviceAccount(dnsName),
		clusterRole("system:coredns",
			rule("", []string{"list", "watch"}, "endpoints", "services", "pods", "namespaces"),
			rule("discovery.k8s.io", []string{"list", "watch"}, "endpointslices"),
		),
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "system:coredns"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:coredns"},
			Subjects:   []rbacv1.Subject{account(dnsName)},
		},
		configMap(dnsName, map[string]string{"Corefile": corefile}),
		service,
		dnsDeployment(facts),
	}
}

const corefile = `.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    forward . /etc/resolv.conf
    cache 30
    reload
}
`

func dnsDeployment(facts *Facts) *appsv1.Deployment {
	replicas := int32(1)
	if facts.HighlyAvailable {
		replicas = 2
	}
	labels := map[string]string{"k8s-app": "kube-dns"}
	probe := func(path string, port int32, period int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}},
			PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: 5,
		}
	}
	container := corev1.Container{
		Name: dnsName, Image: facts.Images["coredns"], Command: []string{"/bin/coredns"}, Args: []string{"-conf", "/etc/coredns/Corefile"},
		Ports: []corev1.ContainerPort{
			{Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}, {Name: "dns-tcp", ContainerPort: 53, Protocol: corev1.ProtocolTCP},
		},
		Env:       apiEnv(facts),
		Resources: requests("50m", "70Mi"), VolumeMounts: []corev1.VolumeMount{readOnly("config", "/etc/coredns")},
		ReadinessProbe: probe("/ready", 8181, 1), LivenessProbe: probe("/health", 8080, 10),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}},
		},
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: kubeSystem, Name: dnsName, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				ServiceAccountName: dnsName, PriorityClassName: "system-cluster-critical", DNSPolicy: corev1.DNSDefault,
				Containers: []corev1.Container{container}, Volumes: []corev1.Volume{configVolume("config", dnsName)},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
					LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
				}},
				Tolerations: []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}},
			}},
		},
	}
}
