package clusterconfig

import (
	configv1 "github.com/openshift/api/config/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// ImageOf reads spec.configuration.image.
func ImageOf(hcp *hyperv1.HostedControlPlane) (configv1.ImageSpec, error) {
	out := configv1.ImageSpec{}
	if c := hcp.Spec.Configuration; c != nil {
		err := decode(c.Image, "image", &out)
		return out, err
	}
	return out, nil
}

// NetworkOf reads spec.configuration.network.
func NetworkOf(hcp *hyperv1.HostedControlPlane) (configv1.NetworkSpec, error) {
	out := configv1.NetworkSpec{}
	if c := hcp.Spec.Configuration; c != nil {
		err := decode(c.Network, "network", &out)
		return out, err
	}
	return out, nil
}

// OAuthOf reads spec.configuration.oauth; given tells whether the user has such a section.
func OAuthOf(hcp *hyperv1.HostedControlPlane) (spec configv1.OAuthSpec, given bool, err error) {
	if c := hcp.Spec.Configuration; c != nil && c.OAuth != nil {
		err = decode(c.OAuth, "oauth", &spec)
		return spec, true, err
	}
	return spec, false, nil
}

// OAuthEnabled tells whether users log in by OpenShift's own OAuth server: unless they are those of a provider outside.
func OAuthEnabled(hcp *hyperv1.HostedControlPlane) bool {
	authentication, err := AuthenticationOf(hcp)
	return err != nil || authentication.Type != configv1.AuthenticationTypeOIDC
}

// OAuthTemplates name Secrets with pages of the user's own.
type OAuthTemplates = configv1.OAuthTemplates

// OAuthTemplatesOf are those of spec.configuration.oauth.
func OAuthTemplatesOf(hcp *hyperv1.HostedControlPlane) (OAuthTemplates, error) {
	spec, _, err := OAuthOf(hcp)
	return spec.Templates, err
}
