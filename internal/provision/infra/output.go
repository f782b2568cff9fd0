package infra

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// Output is the file that `create infra azure` writes and `create cluster azure` reads.
type Output struct {
	BaseDomain        string `json:"baseDomain"`
	PublicZoneID      string `json:"publicZoneID"`
	PrivateZoneID     string `json:"privateZoneID"`
	Region            string `json:"region"`
	ResourceGroupName string `json:"resourceGroupName"`
	VNetID            string `json:"vnetID"`
	SubnetID          string `json:"subnetID"`
	SecurityGroupID   string `json:"securityGroupID"`
	BootImageID       string `json:"bootImageID"`
	InfraID           string `json:"infraID"`
	// ControlPlaneMIs are the identities of the managed flavour, those of its data plane among them.
	ControlPlaneMIs     *hyperv1.AzureResourceManagedIdentities `json:"controlPlaneMIs"`
	DataPlaneIdentities DataPlaneIdentities                     `json:"dataPlaneIdentities"`
	WorkloadIdentities  *identity.WorkloadIdentities            `json:"workloadIdentities"`
	KMSClientID         string                                  `json:"kmsClientID,omitempty"`
}

// DataPlaneIdentities are empty on a self-managed cluster.
type DataPlaneIdentities hyperv1.DataPlaneManagedIdentities

// Write writes the output as YAML that only the user can read.
func (o *Output) Write(path string) error {
	raw, err := yaml.Marshal(o)
	if err != nil {
		return fmt.Errorf("cannot encode the infrastructure: %w", err)
	}
	return wholefile.Replace(path, raw, 0o600)
}

// ReadOutput reads such a file, YAML or JSON, keys without regard to case.
func ReadOutput(path string) (*Output, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, field.Errorf(FieldOutputFile, "cannot read %s: %w", FieldOutputFile, err)
	}
	var out Output
	if err := yaml.Unmarshal(raw, &out); err != nil {
		return nil, FieldOutputFile.Wrong("%s: %w", path, err)
	}
	return &out, nil
}
