package nodepool

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

const (
	cloudConfigMap = contract.CloudConfig
	// oldTokenLifetime lets machines that are already booting with an old configuration finish.
	oldTokenLifetime = 2 * time.Hour
)

func (r *Reconciler) secrets(ctx context.Context, p *pass) error {
	token, err := r.token(ctx, p)
	if err != nil {
		return err
	}
	source := userDataOfPool(p, string(token.Data[ignition.TokenKey]))
	userData, err := userDataSecret(p, source)
	if err != nil {
		return err
	}
	if err := r.apply(ctx, userData); err != nil {
		return err
	}
	if err := r.offerUpdate(ctx, p, source); err != nil {
		return err
	}
	return r.expireOldTokens(ctx, p)
}

// token creates the token secret of the target configuration, or refreshes the hashes that follow the cluster in place.
func (r *Reconciler) token(ctx context.Context, p *pass) (*corev1.Secret, error) {
	name := names.Token(p.np, p.config.version)
	cloud, err := r.cloudConfigHash(ctx, p.namespace)
	if err != nil {
		return nil, err
	}
	configuration, err := ignition.ConfigurationHash(p.hc.Spec.Configuration)
	if err != nil {
		return nil, err
	}
	existing := &corev1.Secret{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, existing)
	if apierrors.IsNotFound(err) {
		created, err := r.newTokenSecret(p, name, configuration, cloud)
		if err != nil {
			return nil, err
		}
		if err := r.client.Create(ctx, created); err != nil {
			return nil, fmt.Errorf("create token secret %s: %w", name, err)
		}
		return created, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read token secret %s: %w", name, err)
	}
	changed := existing.DeepCopy()
	changed.Data[ignition.TokenConfigurationHashKey] = []byte(configuration)
	changed.Data[ignition.TokenCloudConfigHashKey] = []byte(cloud)
	// A pool that returns to an earlier configuration takes its token back.
	delete(changed.Annotations, hyperv1.IgnitionTokenExpirationTimestampAnnotation)
	if apiequality.Semantic.DeepEqual(existing, changed) {
		return existing, nil
	}
	if err := r.client.Patch(ctx, changed, client.MergeFrom(existing)); err != nil {
		return nil, fmt.Errorf("refresh token secret %s: %w", name, err)
	}
	return changed, nil
}

func (r *Reconciler) newTokenSecret(p *pass, name, configuration, cloud string) (*corev1.Secret, error) {
	packed, err := ignition.Compress(p.config.raw)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: name,
			Annotations: map[string]string{
				hyperv1.IgnitionConfigAnnotation:                  "true",
				hyperv1.NodePoolAnnotation:                        names.Reference(p.np),
				hyperv1.NodePoolUpgradeTypeAnnotation:             string(p.np.Spec.Management.UpgradeType),
				hyperv1.IgnitionLastTokenGenerationTimeAnnotation: r.now().UTC().Format(time.RFC3339Nano),
			},
		},
		Immutable: ptr.To(false),
		Data: map[string][]byte{
			ignition.TokenKey:                  []byte(r.newToken()),
			ignition.TokenReleaseKey:           []byte(p.np.Spec.Release.Image),
			ignition.TokenReleaseVersionKey:    []byte(p.release.Version),
			ignition.TokenConfigKey:            packed,
			ignition.TokenTrustBundleHashKey:   []byte(ignition.Hash(string(p.access.TrustBundle))),
			ignition.TokenPullSecretHashKey:    []byte(ignition.HashBytes(p.access.PullSecret)),
			ignition.TokenConfigurationHashKey: []byte(configuration),
			ignition.TokenCloudConfigHashKey:   []byte(cloud),
			ignition.TokenOSStreamKey:          []byte(p.release.OSStream()),
		},
	}, nil
}

// userDataOfPool is where machines find the configuration of the target.
func userDataOfPool(p *pass, token string) ignition.UserData {
	return ignition.UserData{
		Endpoint: p.hc.Status.IgnitionEndpoint, CA: p.ignitionCA, Token: token,
		NodePool: names.Reference(p.np), TargetConfigVersion: p.config.version, Proxy: p.config.proxy,
	}
}

func userDataSecret(p *pass, source ignition.UserData) (*corev1.Secret, error) {
	value, err := source.JSON()
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.namespace, Name: names.UserData(p.np, p.config.version),
			Labels:      map[string]string{contract.ClusterNameLabel: p.hc.Spec.InfraID},
			Annotations: map[string]string{hyperv1.NodePoolAnnotation: names.Reference(p.np)},
		},
		Immutable: ptr.To(false),
		// Encoded once more than its reader needs: published consumers compare these bytes.
		Data: map[string][]byte{"value": value, hyperv1.MachineApproverUserDataTemplatingDisabledKey: []byte("dHJ1ZQ==")},
	}, nil
}

// expireOldTokens gives every other token of the pool an end; the ignition server deletes them then.
func (r *Reconciler) expireOldTokens(ctx context.Context, p *pass) error {
	secrets, err := r.poolSecrets(ctx, p)
	if err != nil {
		return err
	}
	for i := range secrets {
		secret := &secrets[i]
		_, expiring := secret.Annotations[hyperv1.IgnitionTokenExpirationTimestampAnnotation]
		if secret.Annotations[hyperv1.IgnitionConfigAnnotation] != "true" || secret.Name == names.Token(p.np, p.config.version) || expiring {
			continue
		}
		changed := secret.DeepCopy()
		changed.Annotations[hyperv1.IgnitionTokenExpirationTimestampAnnotation] = r.now().Add(oldTokenLifetime).UTC().Format(time.RFC3339)
		if err := r.client.Patch(ctx, changed, client.MergeFrom(secret)); err != nil {
			return fmt.Errorf("expire token secret %s: %w", secret.Name, err)
		}
	}
	return nil
}

// poolSecrets are the token and user-data secrets of a pool, of every configuration.
func (r *Reconciler) poolSecrets(ctx context.Context, p *pass) ([]corev1.Secret, error) {
	var list corev1.SecretList
	// All certificates of the control plane are among them: only what belongs to the pool is copied.
	if err := r.client.List(ctx, &list, client.InNamespace(p.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list secrets of the node pool: %w", err)
	}
	var out []corev1.Secret
	for _, secret := range list.Items {
		if secret.Annotations[hyperv1.NodePoolAnnotation] == names.Reference(p.np) {
			out = append(out, *secret.DeepCopy())
		}
	}
	return out, nil
}

func (r *Reconciler) cloudConfigHash(ctx context.Context, namespace string) (string, error) {
	source := &corev1.ConfigMap{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cloudConfigMap}, source)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read ConfigMap %s: %w", cloudConfigMap, err)
	}
	return ignition.CloudConfigHash(source.Data), nil
}

// sweep deletes what no machine can need any more: the rollout is complete. Azure's provider reads the user data of each machine in every
// pass, also of one that was changed in place since it was made of it.
func (r *Reconciler) sweep(ctx context.Context, p *pass) error {
	needed := map[string]bool{names.UserData(p.np, p.config.version): true}
	for _, m := range p.machines {
		needed[observed.UserDataOf(m.Spec)] = true
	}
	secrets, err := r.poolSecrets(ctx, p)
	if err != nil {
		return err
	}
	for i := range secrets {
		secret := &secrets[i]
		if secret.Annotations[hyperv1.IgnitionConfigAnnotation] == "true" || needed[secret.Name] {
			continue
		}
		if err := kube.DeleteIfExists(ctx, r.client, secret); err != nil {
			return err
		}
	}
	return r.sweepTemplates(ctx, p)
}
