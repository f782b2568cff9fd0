package release

import hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"

// Completed is the newest version that a hosted cluster has completed, else the one it is going to; empty while neither is known.
func Completed(hc *hyperv1.HostedCluster) string {
	if hc.Status.Version == nil {
		return ""
	}
	for _, entry := range hc.Status.Version.History {
		if entry.State == hyperv1.CompletedUpdate {
			return entry.Version
		}
	}
	return hc.Status.Version.Desired.Version
}
