package hostedcluster

import (
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

const (
	maxInfraName  = 21
	infraRandom   = 5
	infraAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// names of one hosted cluster, from which those of its objects follow.
type names struct {
	// cluster is the name of the HostedCluster and of its HostedControlPlane.
	cluster string
	// namespace is the control-plane namespace.
	namespace string
	infraID   string
}

func namesOf(hc *hyperv1.HostedCluster) names {
	return names{cluster: hc.Name, namespace: ControlPlaneNamespace(hc.Namespace, hc.Name), infraID: hc.Spec.InfraID}
}

// ControlPlaneNamespace is where the control plane of a HostedCluster runs.
func ControlPlaneNamespace(namespace, name string) string {
	return namespace + "-" + strings.ReplaceAll(name, ".", "-")
}

// infraID makes an identifier that cloud resources can carry in their names: at most 27 characters, five of them random.
func infraID(name string, random func(int) int) string {
	clean := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	for strings.Contains(clean, "--") {
		clean = strings.ReplaceAll(clean, "--", "-")
	}
	clean = strings.TrimLeft(clean, "-")
	if len(clean) > maxInfraName {
		clean = clean[:maxInfraName]
	}
	clean = strings.TrimRight(clean, "-")
	suffix := make([]byte, infraRandom)
	for i := range suffix {
		suffix[i] = infraAlphabet[random(len(infraAlphabet))]
	}
	return clean + "-" + string(suffix)
}
