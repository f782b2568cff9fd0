package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/access"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

const (
	// agentGrace is for commands that are under way.
	agentGrace = 5
	// agentSettles is how long an agent takes to find all servers while one takes the place of another: the agents of two nodes must
	// not be replaced faster, or a server has none for a moment. Not longer: agents that have not settled yet are replaced all at once.
	agentSettles = 15
)

// konnectivityAgent dials out of the guest, so that the control plane reaches kubelets and Services through the tunnel.
func konnectivityAgent(facts *inside.Facts) []client.Object {
	container := corev1.Container{
		Name: KonnectivityAgentName, Image: facts.Images[contract.ImageKonnectivity], Command: []string{"/bin/proxy-agent"},
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
			{Name: "agent", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: KonnectivityAgentName, DefaultMode: ptr.To[int32](0o640)}}},
			configVolume("ca", contract.KonnectivityCABundle),
		},
	}
	agents := daemonSet(KonnectivityAgentName, pod)
	agents.Spec.MinReadySeconds = agentSettles
	// An agent reads its credentials when it starts.
	sum := sha256.Sum256([]byte(facts.KonnectivityCA + facts.KonnectivityCert))
	agents.Spec.Template.Annotations = map[string]string{hyperv1.ComponentConfigHashAnnotation: hex.EncodeToString(sum[:])[:16]}
	return []client.Object{
		access.ServiceAccount(KonnectivityAgentName),
		&corev1.Secret{ObjectMeta: inside.Meta(KonnectivityAgentName), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{
			corev1.TLSCertKey: []byte(facts.KonnectivityCert), corev1.TLSPrivateKeyKey: []byte(facts.KonnectivityKey),
		}},
		configMap(contract.KonnectivityCABundle, map[string]string{contract.CAKey: facts.KonnectivityCA}),
		agents,
	}
}
