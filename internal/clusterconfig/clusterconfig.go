// Package clusterconfig reads what spec.configuration of a hosted control plane says to its components: members that the API carries
// as the Spec of config.openshift.io/v1 types, of which only what is acted on here is typed.
package clusterconfig

import (
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Name refers to an object of the control-plane namespace.
type Name struct {
	Name string `json:"name"`
}

// APIServer is the part of config.openshift.io/v1 APIServer's Spec that kube-apiserver follows.
type APIServer struct {
	// ClientCA names a ConfigMap with authorities of client certificates, key ca-bundle.crt.
	ClientCA Name  `json:"clientCA"`
	Audit    Audit `json:"audit"`
	// ServingCerts are certificates of the user's own.
	ServingCerts struct {
		NamedCertificates []NamedCertificate `json:"namedCertificates"`
	} `json:"servingCerts"`
	// TLSSecurityProfile is what servers take at least: TLSOf.
	TLSSecurityProfile *configv1.TLSSecurityProfile `json:"tlsSecurityProfile"`
}

// NamedCertificate is a certificate that is shown to those who ask for one of its names.
type NamedCertificate struct {
	// Names replace those in the certificate.
	Names []string `json:"names"`
	// ServingCertificate names a Secret with tls.crt and tls.key.
	ServingCertificate Name `json:"servingCertificate"`
}

// Serving are the certificates that are there, in the user's order.
func (a APIServer) Serving() []NamedCertificate {
	return slices.DeleteFunc(slices.Clone(a.ServingCerts.NamedCertificates), func(c NamedCertificate) bool { return c.ServingCertificate.Name == "" })
}

// Audit says how much of requests is logged.
type Audit struct {
	// Profile is Default, WriteRequestBodies, AllRequestBodies or None; empty means Default.
	Profile string `json:"profile"`
	// CustomRules replace the profile for members of a group; the first that applies decides.
	CustomRules []AuditRule `json:"customRules"`
}

// AuditRule is the profile of a group.
type AuditRule struct {
	Group   string `json:"group"`
	Profile string `json:"profile"`
}

// Scheduler is the part of config.openshift.io/v1 Scheduler's Spec that kube-scheduler follows.
type Scheduler struct {
	// Profile is LowNodeUtilization, HighNodeUtilization or NoScoring; empty means LowNodeUtilization.
	Profile string `json:"profile"`
}

// APIServerOf reads spec.configuration.apiServer.
func APIServerOf(hcp *hyperv1.HostedControlPlane) (APIServer, error) {
	return apiServerOf(hcp.Spec.Configuration)
}

func apiServerOf(c *hyperv1.ClusterConfiguration) (APIServer, error) {
	out := APIServer{}
	if c == nil {
		return out, nil
	}
	err := decode(c.APIServer, "apiServer", &out)
	return out, err
}

// SchedulerOf reads spec.configuration.scheduler.
func SchedulerOf(hcp *hyperv1.HostedControlPlane) (Scheduler, error) {
	out := Scheduler{}
	if c := hcp.Spec.Configuration; c != nil {
		err := decode(c.Scheduler, "scheduler", &out)
		return out, err
	}
	return out, nil
}

func decode(raw *runtime.RawExtension, member string, into any) error {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("spec.configuration.%s cannot be read: %w", member, err)
	}
	return nil
}
