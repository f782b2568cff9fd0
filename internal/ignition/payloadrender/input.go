package payloadrender

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Input is everything that a render depends on, beside the feature gates.
type Input struct {
	// ReleaseImage is the pool's release, Version and Images are its payload's.
	ReleaseImage, Version string
	Images                map[string]string
	Access                release.Access
	// Config has the documents of the pool.
	Config string
	// OSStream is the stream of the operating system's images; empty for the payload's own.
	OSStream string
	// Cluster is the data of ConfigMap machine-config-server.
	Cluster                         map[string]string
	BootstrapKubeconfig, PullSecret []byte
	TrustBundle                     string
	// CloudConfig is the ConfigMap azure-cloud-config; nil on other platforms.
	CloudConfig *corev1.ConfigMap
	// Expected are the hashes of the token secret that the above must have.
	Expected Hashes
}

// Hashes are those that a token secret has of what its configuration was made with.
type Hashes struct {
	PullSecret, TrustBundle, Configuration, CloudConfig string
}

// HashesOf reads them from a token secret.
func HashesOf(data map[string][]byte) Hashes {
	return Hashes{
		PullSecret: string(data[ignition.TokenPullSecretHashKey]), TrustBundle: string(data[ignition.TokenTrustBundleHashKey]),
		Configuration: string(data[ignition.TokenConfigurationHashKey]), CloudConfig: string(data[ignition.TokenCloudConfigHashKey]),
	}
}

// Errors of an input that is not all of one moment: what it was made of is still being written.
var (
	// ErrOutOfDate: something is older or newer than the token secret.
	ErrOutOfDate = errors.New("out of date")
	// ErrCloudConfigPending: the cloud configuration is not what the token secret says.
	ErrCloudConfigPending = errors.New("hash mismatch")
)

// Check tells whether all parts of the input are of one moment. A token secret without a hash says nothing.
func (in *Input) Check() error {
	cloud := ""
	if in.CloudConfig != nil {
		cloud = ignition.CloudConfigHash(in.CloudConfig.Data)
	}
	if in.Expected.CloudConfig != cloud {
		return fmt.Errorf("ConfigMap %s: %w: it has %q, and the token secret was made with %q", contract.CloudConfig, ErrCloudConfigPending, cloud, in.Expected.CloudConfig)
	}
	for _, part := range []struct{ what, has, expected string }{
		{"Secret " + contract.PullSecret, ignition.HashBytes(in.PullSecret), in.Expected.PullSecret},
		{"ConfigMap " + contract.UserCABundle, ignition.Hash(in.TrustBundle), in.Expected.TrustBundle},
		{"ConfigMap " + contract.MachineConfigServer, in.Cluster[contract.ConfigurationHashKey], in.Expected.Configuration},
	} {
		if part.expected != "" && part.has != part.expected {
			return fmt.Errorf("%s is %w: it has the hash %q, and the token secret was made with %q; it is looked at again", part.what, ErrOutOfDate, part.has, part.expected)
		}
	}
	bundle, err := in.clusterBundle()
	if err != nil {
		return err
	}
	if bundle != in.TrustBundle {
		return fmt.Errorf("the trust bundle of ConfigMap %s is %w; it is looked at again", contract.MachineConfigServer, ErrOutOfDate)
	}
	return nil
}

// TrustBundleFile of ConfigMap machine-config-server has the authorities that the user trusts, where there are any.
const TrustBundleFile = "user-ca-bundle-config.yaml"

// clusterBundle are the authorities that the ConfigMap has.
func (in *Input) clusterBundle() (string, error) {
	config := &corev1.ConfigMap{}
	if err := yaml.Unmarshal([]byte(in.Cluster[TrustBundleFile]), config); err != nil {
		return "", fmt.Errorf("%s of ConfigMap %s: %w", TrustBundleFile, contract.MachineConfigServer, err)
	}
	return config.Data[contract.CABundleKey], nil
}

// requiredTags are the images that the machine-config-operator writes into what it renders.
var requiredTags = []string{
	contract.ImageMachineConfig, "keepalived-ipfailover", "coredns", "baremetal-runtimecfg", "oauth-proxy", contract.ImageRBACProxy, "pod", contract.ImageRouter, contract.ImageRegistry,
}

// MissingImages are those without which the machine-config-operator renders nothing.
func MissingImages(images map[string]string) []string {
	var missing []string
	for _, key := range requiredTags {
		if images[key] == "" {
			missing = append(missing, key)
		}
	}
	slices.Sort(missing)
	return missing
}

// Digest is another one for another input.
func (in *Input) Digest() (string, error) {
	encoded, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("encode the input of a render: %w", err)
	}
	digest := sha256.Sum256(encoded)
	return hex.EncodeToString(digest[:]), nil
}
