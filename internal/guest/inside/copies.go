package inside

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// copied is a ConfigMap or Secret of the control-plane namespace that the guest has a copy of, under another name or key perhaps. What
// does not exist there has no copy, and a copy goes with its source.
type copied struct {
	from, key string
	secret    bool
	to        client.ObjectKey
	toKey     string
	// whole copies all keys of a ConfigMap.
	whole bool
	// asSecret makes a Secret of a ConfigMap.
	asSecret bool
	// kind of payload with which there is a copy; each where empty.
	kind release.Kind
}

// copies lists them; the names that the user chose are those of his objects.
func copies(hcp *hyperv1.HostedControlPlane) ([]copied, error) {
	within := func(name string) client.ObjectKey {
		return client.ObjectKey{Namespace: contract.ConfigNamespace, Name: name}
	}
	bundle := func(name string) copied {
		return copied{from: name, key: hyperv1.TrustBundleKey, to: within(name), toKey: hyperv1.TrustBundleKey}
	}
	out := []copied{
		bundle(contract.UserCABundle),
		{from: contract.KubeletCA, key: contract.CAKey, to: client.ObjectKey{Namespace: contract.ManagedNamespace, Name: "kubelet-serving-ca"}, toKey: hyperv1.TrustBundleKey},
		// Authorities of what is signed in the guest; their key stays where it is.
		{from: contract.KubeletCA, key: contract.CAKey, to: client.ObjectKey{Namespace: contract.APIOperatorNamespace, Name: contract.ControlPlaneSigner}, toKey: corev1.TLSCertKey, asSecret: true},
		{from: contract.CloudConfig, key: contract.CloudConfigKey, to: within("cloud-provider-config"), toKey: "config"},
	}
	configuration := hcp.Spec.Configuration
	if configuration == nil {
		return out, nil
	}
	if proxy := configuration.Proxy; proxy != nil && proxy.TrustedCA != nil && proxy.TrustedCA.Name != "" {
		builds := bundle(proxy.TrustedCA.Name)
		builds.to, builds.kind = client.ObjectKey{Namespace: contract.OpenShiftControllerManager, Name: "openshift-user-ca"}, release.KindOpenShift
		out = append(out, bundle(proxy.TrustedCA.Name), builds)
	}
	image := configv1.ImageSpec{}
	if raw := configuration.Image; raw != nil && json.Unmarshal(raw.Raw, &image) == nil && image.AdditionalTrustedCA.Name != "" {
		// Its keys are names of registries.
		out = append(out, copied{from: image.AdditionalTrustedCA.Name, whole: true, to: within(image.AdditionalTrustedCA.Name)})
	}
	authentication, err := clusterconfig.AuthenticationOf(hcp)
	if err != nil || !clusterconfig.ExternalOIDC(authentication) {
		return out, err
	}
	for _, provider := range authentication.OIDCProviders {
		if name := provider.Issuer.CertificateAuthority.Name; name != "" {
			out = append(out, bundle(name))
		}
		for _, client := range provider.OIDCClients {
			if name := client.ClientSecret.Name; name != "" {
				out = append(out, copied{from: name, key: ClientSecretKey, secret: true, to: within(name), toKey: ClientSecretKey})
			}
		}
	}
	return out, nil
}

// secretsOf are Secrets that facts are read from with a kind of payload alone.
var secretsOf = map[release.Kind][]string{release.KindOpenShift: {contract.KubeadminPassword}}

// SecretsRead are the Secrets of the control-plane namespace that the facts of its guest are read from, with a payload of the kind. One that the user's configuration
// names cannot be told where that is malformed, and is not read then.
func SecretsRead(hcp *hyperv1.HostedControlPlane, kind release.Kind) []string {
	names := slices.Concat(SourceSecrets, secretsOf[kind])
	list, err := copies(hcp)
	if err != nil {
		return names
	}
	for _, c := range list {
		if c.secret && !slices.Contains(names, c.from) {
			names = append(names, c.from)
		}
	}
	return names
}

// readCopies reads what the guest gets copies of, with a payload of the kind.
func (r *Reader) readCopies(ctx context.Context, hcp *hyperv1.HostedControlPlane, kind release.Kind) ([]client.Object, error) {
	list, err := copies(hcp)
	if err != nil {
		return nil, err
	}
	var out []client.Object
	for _, c := range list {
		if c.kind != "" && c.kind != kind {
			continue
		}
		content, err := r.source(ctx, c)
		if err != nil {
			return nil, err
		}
		if len(content) == 0 {
			continue
		}
		name := metav1.ObjectMeta{Namespace: c.to.Namespace, Name: c.to.Name}
		if c.secret || c.asSecret {
			data := map[string][]byte{}
			for key, value := range content {
				data[key] = []byte(value)
			}
			out = append(out, &corev1.Secret{ObjectMeta: name, Type: corev1.SecretTypeOpaque, Data: data})
		} else {
			out = append(out, &corev1.ConfigMap{ObjectMeta: name, Data: content})
		}
	}
	return out, nil
}

// source reads what a copy holds, under the copy's keys; nothing where there is no source.
func (r *Reader) source(ctx context.Context, c copied) (map[string]string, error) {
	key := client.ObjectKey{Namespace: r.Namespace, Name: c.from}
	secret, configMap := &corev1.Secret{}, &corev1.ConfigMap{}
	var err error
	if c.secret {
		err = r.Management.Get(ctx, key, secret)
	} else {
		err = r.Management.Get(ctx, key, configMap)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of the control plane: %w", c.from, err)
	}
	if c.whole {
		return configMap.Data, nil
	}
	if content := string(secret.Data[c.key]) + configMap.Data[c.key]; content != "" {
		return map[string]string{c.toKey: content}, nil
	}
	return nil, nil
}
