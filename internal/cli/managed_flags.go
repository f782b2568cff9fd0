package cli

import (
	"errors"

	"github.com/spf13/pflag"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// imageRegistryCapability is the optional part that has an identity of its own.
const imageRegistryCapability = "ImageRegistry"

// managedFlags are those of the managed flavour, in which the identities' certificates lie in a key vault.
type managedFlags struct {
	controlPlane, dataPlane string
	kmsSecret               string
}

func (m *managedFlags) add(f *pflag.FlagSet, o *infra.Options) {
	f.StringVar(&m.controlPlane, "managed-identities-file", "", "managed flavour: the control plane's identities, in place of --workload-identities-file")
	f.StringVar(&m.dataPlane, "data-plane-identities-file", "", "managed flavour: the client ids of the image registry and of the storage drivers")
	f.BoolVar(&o.CustomRoles, "assign-custom-hcp-roles", false, "with the flag that assigns roles: custom roles for the control-plane operator and the machine provider in place of Contributor")
}

// check refuses flags that exclude or need each other.
func (m *managedFlags) check(workload string) error {
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

func (m *managedFlags) given() bool { return m.controlPlane != "" }

// load reads the files into the options.
func (m *managedFlags) load(o *infra.Options) error {
	if !m.given() {
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
