package infraflags

import (
	"errors"

	"github.com/spf13/pflag"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// ImageRegistryCapability is the optional part that has an identity of its own.
const ImageRegistryCapability = "ImageRegistry"

// Managed are those of the managed flavour, in which the identities' certificates lie in a key vault.
type Managed struct {
	controlPlane, dataPlane string
	KMSSecret               string
}

// Add defines the flags.
func (m *Managed) Add(f *pflag.FlagSet, o *infra.Options) {
	f.StringVar(&m.controlPlane, "managed-identities-file", "", "managed flavour: the control plane's identities, in place of --workload-identities-file")
	f.StringVar(&m.dataPlane, "data-plane-identities-file", "", "managed flavour: the client ids of the image registry and of the storage drivers")
	f.BoolVar(&o.CustomRoles, "assign-custom-hcp-roles", false, "with the flag that assigns roles: a custom role for the machine provider; the control-plane operator needs none")
}

// Check refuses flags that exclude or need each other.
func (m *Managed) Check(workload string) error {
	switch {
	case m.controlPlane != "" && workload != "":
		return errors.New("--managed-identities-file and --workload-identities-file are mutually exclusive: they are for two flavours of clusters")
	case m.dataPlane != "" && workload != "":
		return errors.New("--data-plane-identities-file and --workload-identities-file are mutually exclusive: they are for two flavours of clusters")
	case m.dataPlane != "" && m.controlPlane == "":
		return errors.New("--data-plane-identities-file requires --managed-identities-file")
	case m.controlPlane != "" && m.dataPlane == "":
		return errors.New("--managed-identities-file requires --data-plane-identities-file")
	}
	return nil
}

// Given tells whether the cluster is of the managed flavour.
func (m *Managed) Given() bool { return m.controlPlane != "" }

// Load reads the files into the options.
func (m *Managed) Load(o *infra.Options) error {
	if !m.Given() {
		return nil
	}
	control, err := identity.ReadManagedIdentities(m.controlPlane)
	if err != nil {
		return err
	}
	data, err := identity.ReadDataPlaneIdentities(m.dataPlane)
	if err != nil {
		return err
	}
	o.Managed = &hyperv1.AzureResourceManagedIdentities{ControlPlane: *control, DataPlane: *data}
	return nil
}
