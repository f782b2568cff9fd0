package apiserver

import (
	"fmt"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
)

// Args are kube-apiserver's arguments: HyperShift's configuration as flags, which any hyperkube understands.
// Admission plugins and authorizers that only OpenShift's build knows are left out.
func Args(ctx *component.Context) []string {
	args := servingArgs(ctx)
	args = append(args, identityArgs(ctx)...)
	args = append(args, connectionArgs(ctx)...)
	args = append(args, encryptionArgs(ctx)...)
	return append(args, behaviourArgs(ctx)...)
}

func servingArgs(ctx *component.Context) []string {
	args := []string{
		"--advertise-address=" + AdvertiseAddress(ctx.HCP),
		"--bind-address=0.0.0.0",
		fmt.Sprintf("--secure-port=%d", publish.APIServerPort),
		// Service names of the control-plane namespace have their own certificate, chosen by SNI.
		"--tls-sni-cert-key=" + certDir + "/server-private/tls.crt," + certDir + "/server-private/tls.key",
		"--strict-transport-security-directives=max-age=31536000,includeSubDomains,preload",
		"--endpoint-reconciler-type=none",
		"--kubernetes-service-node-port=0",
		"--service-node-port-range=30000-32767",
	}
	args = append(args, namedArgs(ctx)...)
	var networks []string
	for _, n := range ctx.HCP.Spec.Networking.ServiceNetwork {
		networks = append(networks, string(n.CIDR))
	}
	args = append(args, "--service-cluster-ip-range="+strings.Join(networks, ","))
	return append(args, ctx.TLSFlags(certDir+"/server")...)
}

func identityArgs(ctx *component.Context) []string {
	issuer := ctx.HCP.Spec.IssuerURL
	args := []string{
		"--authorization-mode=Node,RBAC",
		"--anonymous-auth=true",
		"--client-ca-file=" + certDir + "/client-ca/ca.crt",
		"--service-account-issuer=" + issuer,
		"--service-account-jwks-uri=" + strings.TrimSuffix(issuer, "/") + "/openid/v1/jwks",
		"--api-audiences=" + issuer,
		"--service-account-signing-key-file=" + certDir + "/service-account/service-account.key",
		"--service-account-key-file=" + certDir + "/service-account/service-account.pub",
		"--service-account-lookup=true",
		"--requestheader-client-ca-file=" + certDir + "/aggregator-ca/ca.crt",
		"--requestheader-allowed-names=kube-apiserver-proxy,system:kube-apiserver-proxy,system:openshift-aggregator",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement,PodNodeSelector,PodTolerationRestriction",
	}
	if value := ctx.HCP.Annotations[hyperv1.KubeAPIServerTokenExpirationAnnotation]; value != "" {
		args = append(args, "--service-account-max-token-expiration="+value)
	}
	return args
}

func connectionArgs(ctx *component.Context) []string {
	servers := "https://etcd-client." + ctx.Namespace() + ".svc:2379"
	if u := ctx.HCP.Spec.Etcd.Unmanaged; u != nil {
		servers = u.Endpoint
	}
	return []string{
		"--etcd-servers=" + servers,
		"--etcd-cafile=" + certDir + "/etcd-ca/ca.crt",
		"--etcd-certfile=" + certDir + "/etcd-client/etcd-client.crt",
		"--etcd-keyfile=" + certDir + "/etcd-client/etcd-client.key",
		"--etcd-prefix=kubernetes.io",
		"--storage-backend=etcd3",
		"--storage-media-type=application/vnd.kubernetes.protobuf",
		"--egress-selector-config-file=" + configDir + "/egress/config.yaml",
		"--kubelet-certificate-authority=" + certDir + "/kubelet-ca/ca.crt",
		"--kubelet-client-certificate=" + certDir + "/kubelet-client/tls.crt",
		"--kubelet-client-key=" + certDir + "/kubelet-client/tls.key",
		"--kubelet-preferred-address-types=InternalIP",
		"--enable-aggregator-routing=true",
		"--runtime-config=admissionregistration.k8s.io/v1beta1=true",
		"--proxy-client-cert-file=" + certDir + "/aggregator/tls.crt",
		"--proxy-client-key-file=" + certDir + "/aggregator/tls.key",
	}
}

func behaviourArgs(ctx *component.Context) []string {
	annotated := func(annotation, otherwise string) string {
		if value := ctx.HCP.Annotations[annotation]; value != "" {
			return value
		}
		return otherwise
	}
	// With one replica there is no other server a client could move to.
	goaway := "0"
	if ctx.HighlyAvailable() {
		goaway = "0.001"
	}
	return []string{
		"--allow-privileged=true",
		"--max-requests-inflight=" + annotated(hyperv1.KubeAPIServerMaxInFlightAnnotation, "3000"),
		"--max-mutating-requests-inflight=" + annotated(hyperv1.KubeAPIServerMaxMutatingAnnotation, "1000"),
		"--http2-max-streams-per-connection=2000",
		"--goaway-chance=" + annotated(hyperv1.KubeAPIServerGoAwayChanceAnnotation, goaway),
		"--min-request-timeout=3600",
		"--event-ttl=3h",
		"--shutdown-delay-duration=70s",
		"--shutdown-send-retry-after=true",
		"--shutdown-watch-termination-grace-period=25s",
		"--audit-log-path=" + auditFile,
		"--audit-log-format=json", "--audit-log-maxsize=10", "--audit-log-maxbackup=1",
		"--audit-policy-file=" + configDir + "/audit/policy.yaml",
		fmt.Sprintf("--profiling=%t", !component.ProfilingDisabled(ctx.HCP, Name)),
		"--v=" + annotated(hyperv1.KubeAPIServerVerbosityAnnotation, "2"),
	}
}
