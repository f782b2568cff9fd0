package cli

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

// load reads every file and fills the options in, so that nothing that may fail is left after the first cloud resource.
func (f *clusterFlags) load() error {
	for _, step := range []func() error{f.loadSecrets, f.loadRestore, f.loadIdentities, f.loadKMS, f.loadMetadata, f.loadSpec, f.loadImageSources} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (f *clusterFlags) loadSecrets() error {
	s := &f.cluster.Secrets
	for _, file := range []struct {
		flag, path string
		into       *[]byte
	}{
		{"--pull-secret", f.pullSecret, &s.PullSecret},
		{"--ssh-key", f.sshKey, &s.SSHPublicKey},
		{"--sa-token-issuer-private-key-path", f.signingKey, &s.SigningKey},
		{"--additional-trust-bundle", f.trustBundle, &s.TrustBundle},
	} {
		if file.path == "" {
			continue
		}
		raw, err := readFlagFile(file.flag, file.path)
		if err != nil {
			return err
		}
		*file.into = raw
	}
	err := f.checkSecrets()
	if err == nil && f.generateSSH {
		s.SSHPublicKey, s.SSHPrivateKey, err = newSSHKey()
	}
	return err
}

// checkSecrets finds files given to the wrong flag: the hosted cluster would be refused, or never start, after its infrastructure
// has been made.
func (f *clusterFlags) checkSecrets() error {
	s := f.cluster.Secrets
	var docker struct {
		Auths map[string]any `json:"auths"`
	}
	if err := json.Unmarshal(s.PullSecret, &docker); err != nil || docker.Auths == nil {
		return fmt.Errorf("the file of --pull-secret, %s, is no dockerconfigjson: it lacks \"auths\"", f.pullSecret)
	}
	if bytes.Contains(s.SSHPublicKey, []byte("PRIVATE KEY")) {
		return fmt.Errorf("the file of --ssh-key, %s, is no public key; give the one that ends with .pub", f.sshKey)
	}
	if block, _ := pem.Decode(s.TrustBundle); len(s.TrustBundle) > 0 && block == nil {
		return fmt.Errorf("the file of --additional-trust-bundle, %s, is no PEM file", f.trustBundle)
	}
	if len(s.SigningKey) > 0 && !isRSAPrivateKey(s.SigningKey) {
		return fmt.Errorf("the file of --sa-token-issuer-private-key-path, %s, is no RSA private key in PEM", f.signingKey)
	}
	return nil
}

func isRSAPrivateKey(text []byte) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return true
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	_, isRSA := key.(*rsa.PrivateKey)
	return err == nil && isRSA
}

// newSSHKey returns an RSA key pair: public in the form of authorized_keys, private as PKCS#1 PEM.
func newSSHKey() (public, private []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		return nil, nil, fmt.Errorf("generating the ssh key: %w", err)
	}
	pub, err := ssh.NewPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("generating the ssh key: %w", err)
	}
	private = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return ssh.MarshalAuthorizedKey(pub), private, nil
}

func (f *clusterFlags) loadIdentities() error {
	f.infra.NoImageRegistry = slices.Contains(f.cluster.DisabledCapabilities, imageRegistryCapability)
	if f.infraJSON == "" {
		if err := f.managed.load(&f.infra); err != nil || f.managed.given() {
			f.infra.Identities = nil
			return err
		}
	}
	if f.workloadIdentities == "" {
		return nil
	}
	var err error
	f.infra.Identities, err = identity.ReadWorkloadIdentities(f.workloadIdentities)
	return err
}

func (f *clusterFlags) loadKMS() error {
	if f.encryptionKeyID == "" {
		return nil
	}
	kms, err := parseKeyID(f.encryptionKeyID)
	if err != nil {
		return err
	}
	if kms.CredentialsSecretName = f.managed.kmsSecret; kms.CredentialsSecretName != "" {
		f.cluster.KMS = kms
		return nil
	}
	if f.infra.Identities != nil {
		kms.ClientID = f.infra.Identities.KMSClientID
	}
	if kms.ClientID == "" && f.infraJSON == "" {
		return errNoKMSIdentity
	}
	f.cluster.KMS = kms
	return nil
}

// vaultSuffixes maps the domain of a key to the kind of its vault, over all clouds.
var vaultSuffixes = map[string]string{
	"vault.azure.net": "KeyVault", "managedhsm.azure.net": "ManagedHSM",
	"vault.usgovcloudapi.net": "KeyVault", "managedhsm.usgovcloudapi.net": "ManagedHSM",
	"vault.azure.cn": "KeyVault", "managedhsm.azure.cn": "ManagedHSM",
	"vault.microsoftazure.de": "KeyVault", "managedhsm.microsoftazure.de": "ManagedHSM",
	"vault.sovcloud-api.fr": "KeyVault", "managedhsm.sovcloud-api.fr": "ManagedHSM",
}

var errNoKMSIdentity = errors.New("--encryption-key-id needs kmsClientID in the workload identities; run `hypershift create iam azure --enable-kms`")

func parseKeyID(id string) (*manifest.KMS, error) {
	malformed := fmt.Errorf("--encryption-key-id %q is not of the form https://VAULT.vault.azure.net/keys/NAME/VERSION", id)
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, malformed
	}
	path := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	if len(path) != 3 || path[0] != "keys" || path[1] == "" || path[2] == "" {
		return nil, malformed
	}
	vault, suffix, _ := strings.Cut(strings.ToLower(u.Hostname()), ".")
	kind := vaultSuffixes[suffix]
	if kind == "" || vault == "" {
		return nil, fmt.Errorf("--encryption-key-id: %q is no domain of a key vault or managed HSM", u.Hostname())
	}
	return &manifest.KMS{VaultName: vault, KeyName: path[1], KeyVersion: path[2], VaultType: kind}, nil
}

func (f *clusterFlags) loadMetadata() error {
	var err error
	if f.cluster.Annotations, err = keyValues("annotation", f.annotations); err != nil {
		return err
	}
	if f.cluster.Labels, err = keyValues("label", f.labels); err != nil {
		return err
	}
	for key, value := range f.cluster.Labels {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fmt.Errorf("invalid label %s=%s: %s", key, value, strings.Join(problems, ", "))
		}
	}
	if f.controlPlaneOperatorImage != "" {
		if f.cluster.Annotations == nil {
			f.cluster.Annotations = map[string]string{}
		}
		f.cluster.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation] = f.controlPlaneOperatorImage
	}
	for _, arg := range f.tolerations {
		toleration, err := parseToleration(arg)
		if err != nil {
			return err
		}
		f.cluster.Tolerations = append(f.cluster.Tolerations, toleration)
	}
	return nil
}

func keyValues(what string, args []string) (map[string]string, error) {
	var out map[string]string
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("invalid %s %q: use key=value", what, arg)
		}
		if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
			return nil, fmt.Errorf("invalid %s %q: %s", what, arg, strings.Join(problems, ", "))
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out, nil
}

func parseToleration(arg string) (corev1.Toleration, error) {
	var t corev1.Toleration
	invalid := func(why string) error { return fmt.Errorf("invalid toleration cli argument %q: %s", arg, why) }
	for part := range strings.SplitSeq(arg, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return t, invalid("use key=value pairs")
		}
		switch strings.TrimSpace(key) {
		case "key":
			t.Key = value
		case "value":
			t.Value = value
		case "operator":
			if t.Operator = oneOf(value, corev1.TolerationOpEqual, corev1.TolerationOpExists); t.Operator == "" {
				return t, invalid("operator is Equal or Exists")
			}
		case "effect":
			t.Effect = oneOf(value, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
			if t.Effect == "" {
				return t, invalid("effect is NoSchedule, PreferNoSchedule or NoExecute")
			}
		case "tolerationSeconds":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return t, invalid("tolerationSeconds is a number")
			}
			t.TolerationSeconds = &seconds
		default:
			return t, invalid("the keys are key, value, operator, effect and tolerationSeconds")
		}
	}
	return t, nil
}

// oneOf returns the allowed value that equals v but for case, or "".
func oneOf[T ~string](v string, allowed ...T) T {
	for _, a := range allowed {
		if strings.EqualFold(v, string(a)) {
			return a
		}
	}
	return ""
}

func (f *clusterFlags) loadSpec() error {
	c := &f.cluster
	size, err := resource.ParseQuantity(f.etcdStorageSize)
	if err != nil {
		return fmt.Errorf("--etcd-storage-size %q: %w", f.etcdStorageSize, err)
	}
	c.EtcdStorageSize = size
	c.Networking.Type = hyperv1.NetworkType(f.networkType)
	c.ControlPlaneAvailability = hyperv1.AvailabilityPolicy(f.controlPlanePolicy)
	c.InfrastructureAvailability = hyperv1.AvailabilityPolicy(f.infraPolicy)
	c.OLMCatalogPlacement = hyperv1.OLMCatalogPlacement(strings.ToLower(f.catalogPlacement))
	c.Publishing.EndpointAccess = hyperv1.AzureTopology(f.endpointAccess)
	c.Publishing.OAuthByLoadBalancer = f.oauth == "LoadBalancer"
	switch f.baseDomainPrefix {
	case "":
	case "none":
		c.BaseDomainPrefix = new("")
	default:
		c.BaseDomainPrefix = &f.baseDomainPrefix
	}
	c.NodePools = f.machines.NodePool
	c.NodePools.DrainTimeout, c.NodePools.VolumeDetachTimeout = &f.nodeDrainTimeout, &f.nodeVolumeDetachTimeout

	f.infra.Name, f.infra.Location, f.infra.BaseDomainPrefix = c.Name, f.location, c.BaseDomainPrefix
	// Without an external domain nothing but the applications' own records would use the public zone.
	f.infra.PublicZoneOptional = c.Publishing.ExternalDNSDomain == ""
	return nil
}

func (f *clusterFlags) loadImageSources() error {
	if f.imageSources == "" {
		return nil
	}
	raw, err := readFlagFile("--image-content-sources", f.imageSources)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(raw, &f.cluster.ImageContentSources); err != nil {
		return fmt.Errorf("--image-content-sources %s is no list of {source, mirrors}: %w", f.imageSources, err)
	}
	return nil
}
