package clusterconfig

import (
	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// AuthenticationOf reads spec.configuration.authentication.
func AuthenticationOf(hcp *hyperv1.HostedControlPlane) (configv1.AuthenticationSpec, error) {
	out := configv1.AuthenticationSpec{}
	if c := hcp.Spec.Configuration; c != nil {
		err := decode(c.Authentication, "authentication", &out)
		return out, err
	}
	return out, nil
}

// ExternalOIDC tells whether the users of the cluster are those of an identity provider outside: nothing of OAuth exists then.
func ExternalOIDC(authentication configv1.AuthenticationSpec) bool {
	return authentication.Type == configv1.AuthenticationTypeOIDC && len(authentication.OIDCProviders) > 0
}
