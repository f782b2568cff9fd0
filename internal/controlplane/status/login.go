package status

import (
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/oauthserver"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// setLogin tells where and how users log in, with a payload that has a server for it; with others nothing is said.
func (s *Status) setLogin(set kube.ConditionSetter) {
	status := &s.HCP.Status
	if !s.Results.Has(contract.OAuthServer) || s.Results.Of(contract.OAuthServer).Absent {
		return
	}
	if s.Endpoints.OAuth.Known() {
		status.OAuthCallbackURLTemplate = oauthserver.CallbackURL(s.Endpoints.OAuth)
	}
	status.KubeadminPassword = nil
	if _, given, err := clusterconfig.OAuthOf(s.HCP); !given && err == nil {
		status.KubeadminPassword = &corev1.LocalObjectReference{Name: oauthserver.KubeadminSecret}
	}
	if err := s.Results.Of(contract.OAuthServer).Leaves; err != nil {
		set.False(hyperv1.ValidIDPConfiguration, "IDPConfigurationError", err.Error())
		return
	}
	set.True(hyperv1.ValidIDPConfiguration, "IDPConfigurationValid", "")
}
