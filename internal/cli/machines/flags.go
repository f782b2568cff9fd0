// Package machines has the flags that describe the machines of node pools, and says what keeps machines from coming.
package machines

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/pflag"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// Flags describe the machines of node pools; create cluster and create nodepool share them.
type Flags struct {
	manifest.NodePool
	upgradeType string
}

// Add defines the flags.
func (m *Flags) Add(f *pflag.FlagSet) {
	f.StringVar(&m.InstanceType, "instance-type", "", "size of the virtual machines; Standard_D4s_v5 (amd64) or Standard_D4ps_v5 (arm64) when empty")
	f.StringVar(&m.InstanceType, "azure-instance-type", "", "alias of --instance-type")
	_ = f.MarkHidden("azure-instance-type")
	f.Int32Var(&m.DiskSizeGiB, "root-disk-size", 120, "size of the OS disk in GiB")
	f.StringVar(&m.AvailabilityZone, "availability-zone", "", "zone of the machines: 1, 2 or 3")
	f.StringVar(&m.SubnetID, "nodepool-subnet-id", "", "subnet of the machines; the hosted cluster's when empty")
	f.StringVar(&m.DiskStorageType, "disk-storage-account-type", "Premium_LRS", "Premium_LRS, PremiumV2_LRS, Standard_LRS or StandardSSD_LRS")
	f.StringVar(&m.DiskEncryptionSetID, "disk-encryption-set-id", "", "ARM id of a disk encryption set")
	f.BoolVar(&m.EphemeralDisk, "enable-ephemeral-disk", false, "OS disks on the host's local storage")
	f.StringVar(&m.EncryptionAtHost, "encryption-at-host", "", "Enabled or Disabled")
	f.StringVar(&m.Image.Generation, "image-generation", "", "generation of the image: Gen1 or Gen2 (default Gen2)")
	f.StringVar(&m.Image.Publisher, "marketplace-publisher", "", "publisher of a marketplace image; all four or none")
	f.StringVar(&m.Image.Offer, "marketplace-offer", "", "offer of a marketplace image")
	f.StringVar(&m.Image.SKU, "marketplace-sku", "", "SKU of a marketplace image")
	f.StringVar(&m.Image.Version, "marketplace-version", "", "version of a marketplace image")
	f.BoolVar(&m.Image.Plan, "marketplace-purchase-plan", false, "the marketplace image has a purchase plan (az vm image show --urn PUBLISHER:OFFER:SKU:VERSION --query plan); the command that accepts its terms is told")
	f.StringVar(&m.DiagnosticsType, "diagnostics-storage-account-type", "", "boot diagnostics: Disabled, Managed or UserManaged")
	f.StringVar(&m.DiagnosticsURI, "diagnostics-storage-account-uri", "", "storage account of UserManaged boot diagnostics")
	f.StringVar(&m.Arch, "arch", "amd64", "architecture of the machines: amd64 or arm64")
	f.BoolVar(&m.AutoRepair, "auto-repair", false, "replace unhealthy machines")
	f.StringToStringVar(&m.Tags, "additional-tags", nil, "tags in Azure of what the cluster or the pool makes: machines with disks and interfaces; of a cluster load balancers and disks of volumes, too")
	f.StringVar(&m.upgradeType, "node-upgrade-type", "Replace", "Replace, by new machines, or InPlace: nodes are emptied and changed where they are")
}

// ValidateArch refuses an architecture that there is not.
func (m *Flags) ValidateArch() error {
	if arches := []string{"amd64", "arm64", "ppc64le", "s390x"}; !slices.Contains(arches, strings.ToLower(m.Arch)) {
		return fmt.Errorf("the value of --arch is not supported: %q; use one of %s%s", m.Arch, strings.Join(arches, ", "), printing.Suggest(m.Arch, arches))
	}
	return nil
}

// Validate refuses values that the API would refuse.
func (m *Flags) Validate() error {
	for _, check := range []func() error{m.ValidateArch, m.validateImage, m.validateValues, m.validateDisks, m.validateTags} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Flags) validateValues() error {
	for _, v := range []struct {
		value   string
		allowed []string
		cue     string
	}{
		{m.AvailabilityZone, []string{"", "1", "2", "3"}, "invalid value for --availability-zone"},
		{m.EncryptionAtHost, []string{"", "Enabled", "Disabled"}, "--encryption-at-host has an invalid value"},
		{m.DiagnosticsType, []string{"", "Disabled", "Managed", "UserManaged"}, "invalid value for --diagnostics-storage-account-type"},
		{m.DiskStorageType, []string{"Premium_LRS", "PremiumV2_LRS", "Standard_LRS", "StandardSSD_LRS"}, "invalid value for --disk-storage-account-type"},
	} {
		if !slices.Contains(v.allowed, v.value) {
			known := slices.DeleteFunc(v.allowed, func(s string) bool { return s == "" })
			return fmt.Errorf("%s: %q; use one of %s%s", v.cue, v.value, strings.Join(known, ", "), printing.Suggest(v.value, known))
		}
	}
	if m.parsedUpgradeType() == "" {
		return fmt.Errorf("--node-upgrade-type %q is unknown; use Replace or InPlace%s", m.upgradeType, printing.Suggest(m.upgradeType, []string{"Replace", "InPlace"}))
	}
	return nil
}

func (m *Flags) validateTags() error {
	if err := tags.Check(m.Tags); err != nil {
		return fmt.Errorf("--additional-tags: %w", err)
	}
	return nil
}

// Pool is what the flags say of a node pool.
func (m *Flags) Pool() manifest.NodePool {
	pool := m.NodePool
	pool.UpgradeType = m.parsedUpgradeType()
	return pool
}

func (m *Flags) parsedUpgradeType() hyperv1.UpgradeType {
	for _, t := range []hyperv1.UpgradeType{hyperv1.UpgradeTypeReplace, hyperv1.UpgradeTypeInPlace} {
		if strings.EqualFold(m.upgradeType, string(t)) {
			return t
		}
	}
	return ""
}

// vmSizePattern is the API's rule for the names of Azure's sizes.
var vmSizePattern = regexp.MustCompile(`^(Standard_|Basic_)?[A-Z]+[0-9]+(-[0-9]+)?[abdilmptsCNP]*(_[A-Z]*[0-9]+[A-Z]*)?(_v[0-9]+)?$`)

func (m *Flags) validateDisks() error {
	managed := m.DiagnosticsType == "UserManaged"
	switch {
	case m.InstanceType != "" && !vmSizePattern.MatchString(m.InstanceType):
		return fmt.Errorf("--instance-type %q is no name of an Azure size, such as Standard_D4s_v5", m.InstanceType)
	case m.DiskSizeGiB < 16 || m.DiskSizeGiB > 32767:
		return fmt.Errorf("--root-disk-size %d is out of range; use 16 to 32767 GiB", m.DiskSizeGiB)
	case m.DiagnosticsURI != "" && !managed:
		return errors.New("--diagnostics-storage-account-uri is applicable only if --diagnostics-storage-account-type is UserManaged")
	case managed && !strings.HasPrefix(m.DiagnosticsURI, "https://"):
		return fmt.Errorf("--diagnostics-storage-account-uri %q is not an https URL; --diagnostics-storage-account-type UserManaged needs one", m.DiagnosticsURI)
	}
	return nil
}

func (m *Flags) validateImage() error {
	if g := m.Image.Generation; g != "" && g != "Gen1" && g != "Gen2" {
		return fmt.Errorf("invalid value for --image-generation: %q; use exactly Gen1 or Gen2%s", g, printing.Suggest(g, []string{"Gen1", "Gen2"}))
	}
	parts := []struct{ flag, value, pattern string }{
		{"--marketplace-publisher", m.Image.Publisher, `^[a-z0-9][a-z0-9-_]{2,49}$`}, {"--marketplace-offer", m.Image.Offer, `^.{1,255}$`},
		{"--marketplace-sku", m.Image.SKU, `^[a-z0-9-_]{1,255}$`}, {"--marketplace-version", m.Image.Version, `^([0-9]+\.[0-9]+\.[0-9]+|latest)$`},
	}
	var given, missing []string
	for _, p := range parts {
		if p.value == "" {
			missing = append(missing, p.flag)
			continue
		}
		given = append(given, p.flag)
	}
	if len(given) > 0 && len(missing) > 0 {
		return fmt.Errorf("all marketplace flags are required together: %s is empty", strings.Join(missing, ", "))
	}
	if m.Image.Plan && len(given) == 0 {
		return errors.New("--marketplace-purchase-plan is about a marketplace image: give --marketplace-publisher, --marketplace-offer, --marketplace-sku and --marketplace-version, too")
	}
	for _, p := range parts {
		if p.value != "" && !regexp.MustCompile(p.pattern).MatchString(p.value) {
			return fmt.Errorf("%s %q does not match %s", p.flag, p.value, p.pattern)
		}
	}
	return nil
}

// TermsNotice says what Terms are for; it has a verb for them.
const TermsNotice = "the image of the machines has a purchase plan; Azure refuses them until its terms are accepted in the subscription: %s"

// Terms is what to type before machines of an image with a purchase plan are made; empty for one without.
func (m *Flags) Terms(subscription string) string {
	if !m.Image.Plan {
		return ""
	}
	return fmt.Sprintf("az vm image terms accept --publisher %s --offer %s --plan %s --subscription %s", m.Image.Publisher, m.Image.Offer, m.Image.SKU, subscription)
}

// CheckImage refuses what is no reference to an image.
func CheckImage(flag, image string) error {
	if image == "" {
		return nil
	}
	if _, err := name.ParseReference(image); err != nil {
		return fmt.Errorf("%s %q is no reference of an image such as quay.io/openshift-release-dev/ocp-release:4.21.0-x86_64: %w", flag, image, err)
	}
	return nil
}
