package nodepool

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
)

// TestFieldsReachTheMachines: what a pool says about its machines is what Cluster API and Azure's provider are told, to the value; what
// it leaves out is not said.
func TestFieldsReachTheMachines(t *testing.T) {
	const disks = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/keys"
	for field, test := range map[string]struct {
		change    func(*hyperv1.NodePoolSpec)
		said, not string
	}{
		"platform.azure.vmSize":           {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.VMSize = "Standard_E8s_v5" }, `"vmSize":"Standard_E8s_v5"`, ``},
		"platform.azure.subnetID":         {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.SubnetID = "/subscriptions/s/x/subnets/mine" }, `"networkInterfaces":[{"subnetName":"mine"}]`, ``},
		"platform.azure.availabilityZone": {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.AvailabilityZone = "3" }, `"failureDomain":"3"`, `"failureDomain":"3"`},
		"platform.azure.encryptionAtHost": {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.EncryptionAtHost = "Enabled" }, `"securityProfile":{"encryptionAtHost":true}`, `encryptionAtHost`},
		"platform.azure.osDisk.sizeGiB":   {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.OSDisk.SizeGiB = 333 }, `"diskSizeGB":333`, `"diskSizeGB":333`},
		"platform.azure.osDisk.diskStorageAccountType": {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.OSDisk.DiskStorageAccountType = "UltraSSD_LRS" },
			`"storageAccountType":"UltraSSD_LRS"`, `UltraSSD`},
		"platform.azure.osDisk.encryptionSetID": {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.OSDisk.EncryptionSetID = disks }, `"diskEncryptionSet":{"id":"` + disks + `"}`, `diskEncryptionSet`},
		"platform.azure.osDisk.persistence": {func(s *hyperv1.NodePoolSpec) { s.Platform.Azure.OSDisk.Persistence = "Ephemeral" },
			`"cachingType":"ReadOnly","diffDiskSettings":{"option":"Local"}`, `diffDiskSettings`},
		"platform.azure.diagnostics": {func(s *hyperv1.NodePoolSpec) {
			s.Platform.Azure.Diagnostics = &hyperv1.AzureDiagnostics{StorageAccountType: "UserManaged", UserManaged: &hyperv1.UserManagedDiagnostics{StorageAccountURI: "https://mine.blob.core.windows.net/"}}
		}, `"diagnostics":{"boot":{"storageAccountType":"UserManaged","userManaged":{"storageAccountURI":"https://mine.blob.core.windows.net/"}}}`, `"diagnostics"`},
		"management.replace.strategy": {func(s *hyperv1.NodePoolSpec) {
			s.Management.Replace = &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyOnDelete}
		},
			`"type":"OnDelete"`, `OnDelete`},
		"management.replace.rollingUpdate": {func(s *hyperv1.NodePoolSpec) {
			s.Management.Replace = &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyRollingUpdate,
				RollingUpdate: &hyperv1.RollingUpdate{MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromInt32(2))}}
		}, `"rollingUpdate":{"maxSurge":"25%","maxUnavailable":2}`, `"25%"`},
		"nodeDrainTimeout":        {func(s *hyperv1.NodePoolSpec) { s.NodeDrainTimeout = &metav1.Duration{Duration: 90 * time.Second} }, `"nodeDrainTimeoutSeconds":90`, `nodeDrainTimeoutSeconds`},
		"nodeVolumeDetachTimeout": {func(s *hyperv1.NodePoolSpec) { s.NodeVolumeDetachTimeout = &metav1.Duration{Duration: time.Minute} }, `"nodeVolumeDetachTimeoutSeconds":60`, `nodeVolumeDetachTimeoutSeconds`},
	} {
		t.Run(field, func(t *testing.T) {
			if before := saidOf(t, func(*hyperv1.NodePoolSpec) {}); test.not != "" && strings.Contains(before, test.not) {
				t.Errorf("without the field there is %s in %s", test.not, before)
			}
			if after := saidOf(t, test.change); !strings.Contains(after, test.said) {
				t.Errorf("no %s in %s", test.said, after)
			}
		})
	}
}

// saidOf is what Cluster API and Azure's provider are told of the machines of a pool, as JSON.
func saidOf(t *testing.T, change func(*hyperv1.NodePoolSpec)) string {
	t.Helper()
	p := &pass{np: nodePool(), hc: hostedCluster(), namespace: "clusters-fields", release: payload(), config: newConfig(nil, "4.21.0", "", "", "")}
	p.np.Spec.NodeDrainTimeout, p.np.Spec.NodeVolumeDetachTimeout = nil, nil
	p.np.Spec.Platform.Azure.EncryptionAtHost = ""
	change(&p.np.Spec)
	template, made := rendered(t, p)
	if template.GetKind() != clusterapi.AzureMachineTemplate.Kind || made.GetKind() != clusterapi.MachineDeployment.Kind {
		t.Fatalf("a %s and a %s", template.GetKind(), made.GetKind())
	}
	var all strings.Builder
	for _, object := range []map[string]any{template.Object, made.Object} {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
