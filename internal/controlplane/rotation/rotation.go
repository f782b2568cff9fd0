// Package rotation keeps the encryption configuration of an API server, and moves a change of its key on.
package rotation

import (
	"context"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// Rotation is what one pass does about the key, and what it learns.
type Rotation struct {
	Client client.Client
	HCP    *hyperv1.HostedControlPlane
	// Secrets of the namespace; Inputs learns of the configuration.
	Secrets pki.Secrets
	Inputs  *component.Inputs
	Now     func() time.Time
	// Save writes the status of the hosted control plane unless it is as it was before.
	Save func(ctx context.Context, before *hyperv1.HostedControlPlane) error

	// Unusable says why a key cannot be used; Migration is how far a running rotation is with writing everything again.
	Unusable  error
	Migration encryption.Report
}

// stepsAtOnce is how many steps of a rotation may follow from one look: interrupt, begin.
const stepsAtOnce = 2

// Encrypt keeps the API server's encryption configuration:
//
//  1. which key is wanted; one that is missing or malformed is reported, and changes nothing
//  2. the rotation goes on, and is in the status before anything follows from it
//  3. the configuration follows from the status alone
func (r *Rotation) Encrypt(ctx context.Context) error {
	spec := r.HCP.Spec.SecretEncryption
	if spec == nil {
		return nil
	}
	status := r.HCP.Status.SecretEncryption
	facts, err := r.rotationFacts(ctx, status)
	if err != nil {
		return err
	}
	if facts.Wanted != nil {
		before := r.HCP.DeepCopy()
		r.HCP.Status.SecretEncryption = advance(status, facts)
		if err := r.Save(ctx, before); err != nil {
			return err
		}
	}
	if write, read := encryption.Keys(r.HCP.Status.SecretEncryption); write == nil && read == nil {
		return nil
	}
	config, err := r.encryptionConfig(r.HCP.Status.SecretEncryption)
	if err != nil {
		r.Unusable = err
		return nil
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: encryption.ConfigSecret, Namespace: r.HCP.Namespace},
		Data:       map[string][]byte{encryption.ConfigKey: config},
	}
	component.Own(r.HCP, secret)
	r.Inputs.Put(secret)
	return kube.Apply(ctx, r.Client, component.FieldManager, secret)
}

// advance takes the steps that follow from the facts. What was found out about the present state says nothing about the next one.
func advance(status *encryption.Status, facts encryption.Facts) *encryption.Status {
	for range stepsAtOnce {
		next := encryption.Advance(status, facts)
		if equality.Semantic.DeepEqual(next, status) {
			break
		}
		status, facts.Converged, facts.Migrated = next, false, false
	}
	return status
}

// rotationFacts looks at what a rotation depends on. Wanted is nil when nothing is known of any key.
func (r *Rotation) rotationFacts(ctx context.Context, status *encryption.Status) (encryption.Facts, error) {
	facts := encryption.Facts{Now: r.Now()}
	var err error
	facts.Wanted, err = encryption.Wanted(r.HCP.Spec.SecretEncryption, r.localKey)
	if err == nil && (status == nil || status.ActiveKey == nil) {
		facts.Backup, err = encryption.Backup(r.HCP.Spec.SecretEncryption, r.localKey)
	}
	if err != nil {
		// A running rotation goes on with the keys it knows.
		r.Unusable, facts.Wanted = err, nil
		if status != nil {
			facts.Wanted = status.ActiveKey
		}
		if encryption.Running(status) != nil {
			facts.Wanted = status.TargetKey
		}
	}
	live := &appsv1.Deployment{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: r.HCP.Namespace, Name: apiserver.Name}, live)
	if client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read the Deployment of the API server: %w", err)
	}
	facts.Fresh = apierrors.IsNotFound(err)
	if encryption.Running(status) == nil {
		return facts, nil
	}
	if facts.Converged, err = r.encryptionConverged(ctx, status, live); err != nil {
		return facts, err
	}
	report, err := encryption.ReadMigration(ctx, r.Client, r.HCP.Namespace)
	r.Migration = report
	facts.Migrated = report.Done && report.ID == encryption.Migration(status)
	return facts, err
}

// encryptionConverged tells whether no API server runs with another configuration than that of the status. One that is ending still
// writes for a while, with the key of its own configuration.
func (r *Rotation) encryptionConverged(ctx context.Context, status *encryption.Status, live *appsv1.Deployment) (bool, error) {
	config, err := r.encryptionConfig(status)
	if err != nil {
		r.Unusable = err
		return false, nil
	}
	hash := encryption.Hash(config)
	if _, rollout := component.DeploymentConditions(live); rollout.Status != metav1.ConditionTrue || live.Spec.Template.Annotations[apiserver.AnnotationEncryptionHash] != hash {
		return false, nil
	}
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(r.HCP.Namespace), client.MatchingLabels{component.LabelApp: apiserver.Name}); err != nil {
		return false, fmt.Errorf("list the pods of the API server: %w", err)
	}
	for _, pod := range pods.Items {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !ended && pod.Annotations[apiserver.AnnotationEncryptionHash] != hash {
			return false, nil
		}
	}
	return true, nil
}

func (r *Rotation) encryptionConfig(status *encryption.Status) ([]byte, error) {
	contents, err := encryption.KeysIn(r.Secrets[encryption.ConfigSecret][encryption.ConfigKey])
	if err != nil {
		return nil, err
	}
	for name := range maps.Keys(r.Secrets) {
		if key, found := r.localKey(name); found {
			contents = append(contents, key)
		}
	}
	write, read := encryption.Keys(status)
	vaultType := ""
	if kms := r.HCP.Spec.SecretEncryption.KMS; kms != nil && kms.Azure != nil {
		vaultType = kms.Azure.KeyVaultType
	}
	return encryption.Render(write, read, vaultType, encryption.ByHash(contents))
}

// localKey is the content of a key in the copy of the user's Secret.
func (r *Rotation) localKey(secret string) ([]byte, bool) {
	key, found := r.Secrets[secret][hyperv1.AESCBCKeySecretKey]
	return key, found && len(key) > 0
}

// Tell tells whether everything is encrypted with the wanted key.
func (r *Rotation) Tell(set kube.ConditionSetter) {
	status := r.HCP.Status.SecretEncryption
	running := encryption.Running(status)
	switch {
	case r.HCP.Spec.SecretEncryption == nil:
		set.Remove(hyperv1.EtcdDataEncryptionUpToDate)
	case r.Unusable != nil:
		set.False(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.InvalidConfigurationReason, r.Unusable.Error())
	case running != nil && running.State == encryption.Migrating && r.Migration.Problem != "":
		set.False(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.ReEncryptionFailedReason, r.Migration.Problem)
	case running != nil:
		set.False(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.ReEncryptionInProgressReason, rotationMessages[running.State])
	case status == nil:
		set.Unknown(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.StatusUnknownReason, "the key has not been looked at yet")
	case len(status.History) == 0:
		set.True(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.AsExpectedReason, "")
	default:
		set.True(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.ReEncryptionCompletedReason, "")
	}
}

// rotationMessages say what a state of a rotation is about.
var rotationMessages = map[string]string{
	encryption.ReadOnlyDeploy: "every API server learns to read with the new key; the old one still writes",
	encryption.WritePromote:   "the new key begins to write; API servers that write with the old one are ending",
	encryption.Migrating:      "what the old key wrote is written again with the new one",
}
