package install

import (
	"slices"
	"strings"
	"testing"
)

// The definitions for Azure, by name: tools of this field expect these and no others.
const azureDefinitions = `
auditlogpersistenceconfigs.auditlogpersistence.hypershift.openshift.io
azureasomanagedclusters.infrastructure.cluster.x-k8s.io
azureasomanagedclustertemplates.infrastructure.cluster.x-k8s.io
azureasomanagedcontrolplanes.infrastructure.cluster.x-k8s.io
azureasomanagedcontrolplanetemplates.infrastructure.cluster.x-k8s.io
azureasomanagedmachinepools.infrastructure.cluster.x-k8s.io
azureasomanagedmachinepooltemplates.infrastructure.cluster.x-k8s.io
azureclusteridentities.infrastructure.cluster.x-k8s.io
azureclusters.infrastructure.cluster.x-k8s.io
azureclustertemplates.infrastructure.cluster.x-k8s.io
azuremachines.infrastructure.cluster.x-k8s.io
azuremachinetemplates.infrastructure.cluster.x-k8s.io
azureprivatelinkservices.hypershift.openshift.io
certificaterevocationrequests.certificates.hypershift.openshift.io
certificatesigningrequestapprovals.certificates.hypershift.openshift.io
certificatesigningrequestapprovals.hypershift.openshift.io
clusterclasses.cluster.x-k8s.io
clusterresourcesetbindings.addons.cluster.x-k8s.io
clusterresourcesets.addons.cluster.x-k8s.io
clusters.cluster.x-k8s.io
clustersizingconfigurations.scheduling.hypershift.openshift.io
controlplanecomponents.hypershift.openshift.io
hostedclusters.hypershift.openshift.io
hostedcontrolplanes.hypershift.openshift.io
ipaddressclaims.ipam.cluster.x-k8s.io
ipaddresses.ipam.cluster.x-k8s.io
machinedeployments.cluster.x-k8s.io
machinedrainrules.cluster.x-k8s.io
machinehealthchecks.cluster.x-k8s.io
machinepools.cluster.x-k8s.io
machines.cluster.x-k8s.io
machinesets.cluster.x-k8s.io
nodepools.hypershift.openshift.io
`

func TestDefinitionsForAzure(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		more   string
		fewer  string
	}{
		{"default", func(*Options) {}, "", ""},
		{"technology previews", func(o *Options) { o.TechPreview = true }, "hcpetcdbackups.hypershift.openshift.io", ""},
		{"technology previews without etcd", func(o *Options) { o.TechPreview, o.ExcludeEtcd = true, true }, "", ""},
		{"with our router", func(o *Options) { o.Router = true }, RouteCRD, ""},
		{"another platform", func(o *Options) { o.Platforms = []string{"AWS"} }, "", "azure"},
	} {
		o := minimal()
		o.Platforms = []string{"Azure"}
		tc.change(o)
		crds, err := o.CRDs()
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(strings.Fields(azureDefinitions), func(name string) bool { return tc.fewer != "" && strings.HasPrefix(name, tc.fewer) })
		if tc.more != "" {
			want = append(want, tc.more)
		}
		slices.Sort(want)
		var got []string
		for _, crd := range crds {
			got = append(got, crd.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, want)
		}
	}
}
