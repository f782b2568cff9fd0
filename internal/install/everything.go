package install

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

// Everything are options whose objects and definitions are those of any installation in the namespace: what uninstall looks for. Only
// their kinds and names mean something.
func Everything(namespace string) *Options {
	return &Options{
		Namespace: namespace, PrivatePlatform: "None", MetricsSet: "All", ImagePullPolicy: "Always", CertRotationScale: 24 * time.Hour,
		PullSecret: []byte("{}"), TrustBundle: []byte("PEM"), ReleaseSignatureKeys: []byte("PEM"), Proxy: proxyenv.Proxy{TrustBundle: contract.TrustedCA},
		IngressDomain: "example.com", Router: true, AdminRBAC: true, Dashboard: true, SLOAlerts: true, MonitoringDashboards: true, TechPreview: true,
		ExternalDNS: ExternalDNS{Provider: "azure", Credentials: []byte("{}"), DomainFilter: "example.com", ClientID: "id", TenantID: "id"},
	}
}

// OperatorMade are the objects that the operator makes for itself in its namespace.
func OperatorMade(namespace string) []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: named(contract.SupportedVersions)},
		&corev1.Secret{ObjectMeta: named(contract.ConversionCA)},
		&corev1.Secret{ObjectMeta: named(contract.ConversionCertificate)},
		&coordinationv1.Lease{ObjectMeta: named(contract.OperatorLease)},
	}
}
