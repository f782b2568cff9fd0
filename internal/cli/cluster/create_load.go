package cluster

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
	"github.com/hypershift-on-azure/hypershift/internal/azure/tags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/infraflags"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/identity"
)

func (v *validated) loadSecrets() error {
	s := &v.cluster.Secrets
	for _, file := range []struct {
		flag, path string
		into       *[]byte
	}{
		{"--pull-secret", v.typed.pullSecret, &s.PullSecret},
		{"--ssh-key", v.typed.sshKey, &s.SSHPublicKey},
		{"--sa-token-issuer-private-key-path", v.typed.signingKey, &s.SigningKey},
		{"--additional-trust-bundle", v.typed.trustBundle, &s.TrustBundle},
	} {
		if file.path == "" {
			continue
		}
		raw, err := flagfile.Read(file.flag, file.path)
		if err != nil {
			return err
		}
		*file.into = raw
	}
	err := v.checkSecrets()
	if err == nil && v.typed.generateSSH {
		s.SSHPublicKey, s.SSHPrivateKey, err = newSSHKey()
	}
	return err
}

// checkSecrets finds files given to the wrong flag: the hosted cluster would be refused, or never start, after its infrastructure
// has been made.
func (v *validated) checkSecrets() error {
	s := v.cluster.Secrets
	var docker struct {
		Auths map[string]any `json:"auths"`
	}
	if err := json.Unmarshal(s.PullSecret, &docker); err != nil || docker.Auths == nil {
		return fmt.Errorf("the file of --pull-secret, %s, is no dockerconfigjson: it lacks \"auths\"", v.typed.pullSecret)
	}
	if bytes.Contains(s.SSHPublicKey, []byte("PRIVATE KEY")) {
		return fmt.Errorf("the file of --ssh-key, %s, is no public key; give the one that ends with .pub", v.typed.sshKey)
	}
	if block, _ := pem.Decode(s.TrustBundle); len(s.TrustBundle) > 0 && block == nil {
		return fmt.Errorf("the file of --additional-trust-bundle, %s, is no PEM file", v.typed.trustBundle)
	}
	if len(s.SigningKey) > 0 && !isRSAPrivateKey(s.SigningKey) {
		return fmt.Errorf("the file of --sa-token-issuer-private-key-path, %s, is no RSA private key in PEM", v.typed.signingKey)
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

func (v *validated) loadIdentities() error {
	v.infra.NoImageRegistry = slices.Contains(v.cluster.DisabledCapabilities, infraflags.ImageRegistryCapability)
	if v.typed.infraJSON == "" {
		if err := v.typed.managed.Load(&v.infra); err != nil || v.typed.managed.Given() {
			v.infra.Identities = nil
			return err
		}
	}
	if v.typed.workloadIdentities == "" {
		return nil
	}
	var err error
	v.infra.Identities, err = identity.ReadWorkloadIdentities(v.typed.workloadIdentities)
	return err
}

func (v *validated) loadKMS() error {
	if v.typed.encryptionKeyID == "" {
		return nil
	}
	kms, err := parseKeyID(v.typed.encryptionKeyID)
	if err != nil {
		return err
	}
	if kms.CredentialsSecretName = v.typed.managed.KMSSecret; kms.CredentialsSecretName != "" {
		v.cluster.KMS = kms
		return nil
	}
	if v.infra.Identities != nil {
		kms.ClientID = v.infra.Identities.KMSClientID
	}
	if kms.ClientID == "" && v.typed.infraJSON == "" {
		return errNoKMSIdentity
	}
	v.cluster.KMS = kms
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

func (v *validated) loadMetadata() error {
	var err error
	if v.cluster.Annotations, err = keyValues("annotation", v.typed.annotations); err != nil {
		return err
	}
	if v.cluster.Labels, err = keyValues("label", v.typed.labels); err != nil {
		return err
	}
	for key, value := range v.cluster.Labels {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fmt.Errorf("invalid label %s=%s: %s", key, value, strings.Join(problems, ", "))
		}
	}
	for key, value := range map[string]string{
		hyperv1.ControlPlaneOperatorImageAnnotation: v.typed.controlPlaneOperatorImage, hyperv1.AzureTagsAnnotation: tags.Format(v.typed.machines.Tags),
	} {
		if value == "" {
			continue
		}
		if v.cluster.Annotations == nil {
			v.cluster.Annotations = map[string]string{}
		}
		v.cluster.Annotations[key] = value
	}
	for _, arg := range v.typed.tolerations {
		toleration, err := parseToleration(arg)
		if err != nil {
			return err
		}
		v.cluster.Tolerations = append(v.cluster.Tolerations, toleration)
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

func (v *validated) loadSpec() error {
	c := &v.cluster
	size, err := resource.ParseQuantity(v.typed.etcdStorageSize)
	if err != nil {
		return fmt.Errorf("--etcd-storage-size %q: %w", v.typed.etcdStorageSize, err)
	}
	c.EtcdStorageSize = size
	c.Networking.Type = hyperv1.NetworkType(v.typed.networkType)
	c.ControlPlaneAvailability = hyperv1.AvailabilityPolicy(v.typed.controlPlanePolicy)
	c.InfrastructureAvailability = hyperv1.AvailabilityPolicy(v.typed.infraPolicy)
	c.OLMCatalogPlacement = hyperv1.OLMCatalogPlacement(strings.ToLower(v.typed.catalogPlacement))
	c.Publishing.EndpointAccess = hyperv1.AzureTopology(v.typed.endpointAccess)
	c.Publishing.OAuthByLoadBalancer = v.typed.oauth == "LoadBalancer"
	c.NodePools = v.typed.machines.Pool()
	c.NodePools.Tags = nil // the cluster's are those of its machines, too
	c.NodePools.DrainTimeout, c.NodePools.VolumeDetachTimeout = &v.typed.nodeDrainTimeout, &v.typed.nodeVolumeDetachTimeout

	v.place()
	return nil
}

// place completes what the infrastructure is asked for.
func (v *validated) place() {
	c := &v.cluster
	switch v.typed.baseDomainPrefix {
	case "":
	case "none":
		c.BaseDomainPrefix = new("")
	default:
		c.BaseDomainPrefix = &v.typed.baseDomainPrefix
	}
	v.infra.Name, v.infra.Location, v.infra.BaseDomainPrefix = c.Name, v.typed.Location, c.BaseDomainPrefix
	// Without an external domain nothing but the applications' own records would use the public zone.
	v.infra.PublicZoneOptional = c.Publishing.ExternalDNSDomain == ""
}

func (v *validated) loadImageSources() error {
	if v.typed.imageSources == "" {
		return nil
	}
	raw, err := flagfile.Read("--image-content-sources", v.typed.imageSources)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(raw, &v.cluster.ImageContentSources); err != nil {
		return fmt.Errorf("--image-content-sources %s is no list of {source, mirrors}: %w", v.typed.imageSources, err)
	}
	return nil
}
