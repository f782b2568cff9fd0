package controlplane

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// stepsAtOnce is how many steps of a rotation may follow from one look: interrupt, begin.
const stepsAtOnce = 2

// encrypt keeps the API server's encryption configuration:
//
//  1. which key is wanted; one that is missing or malformed is reported, and changes nothing
//  2. the rotation goes on, and is in the status before anything follows from it
//  3. the configuration follows from the status alone
func (p *pass) encrypt(ctx context.Context) error {
	spec := p.hcp.Spec.SecretEncryption
	if spec == nil {
		return nil
	}
	status := p.hcp.Status.SecretEncryption
	facts, err := p.rotationFacts(ctx, status)
	if err != nil {
		return err
	}
	if facts.Wanted != nil {
		before := p.hcp.DeepCopy()
		p.hcp.Status.SecretEncryption = advance(status, facts)
		if err := p.writeStatus(ctx, before); err != nil {
			return err
		}
	}
	if write, read := encryption.Keys(p.hcp.Status.SecretEncryption); write == nil && read == nil {
		return nil
	}
	config, err := p.encryptionConfig(p.hcp.Status.SecretEncryption)
	if err != nil {
		p.unusable = err
		return nil
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: encryption.ConfigSecret, Namespace: p.hcp.Namespace},
		Data:       map[string][]byte{encryption.ConfigKey: config},
	}
	component.Own(p.hcp, secret)
	p.inputs.Put(secret)
	return kube.Apply(ctx, p.Client, component.FieldManager, secret)
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
func (p *pass) rotationFacts(ctx context.Context, status *encryption.Status) (encryption.Facts, error) {
	facts := encryption.Facts{Now: p.Now()}
	var err error
	facts.Wanted, err = encryption.Wanted(p.hcp.Spec.SecretEncryption, p.localKey)
	if err == nil && (status == nil || status.ActiveKey == nil) {
		facts.Backup, err = encryption.Backup(p.hcp.Spec.SecretEncryption, p.localKey)
	}
	if err != nil {
		// A running rotation goes on with the keys it knows.
		p.unusable, facts.Wanted = err, nil
		if status != nil {
			facts.Wanted = status.ActiveKey
		}
		if encryption.Running(status) != nil {
			facts.Wanted = status.TargetKey
		}
	}
	live := &appsv1.Deployment{}
	err = p.Client.Get(ctx, client.ObjectKey{Namespace: p.hcp.Namespace, Name: apiserver.Name}, live)
	if client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read the Deployment of the API server: %w", err)
	}
	facts.Fresh = apierrors.IsNotFound(err)
	if encryption.Running(status) == nil {
		return facts, nil
	}
	if facts.Converged, err = p.encryptionConverged(ctx, status, live); err != nil {
		return facts, err
	}
	report, err := encryption.ReadMigration(ctx, p.Client, p.hcp.Namespace)
	p.migration = report
	facts.Migrated = report.Done && report.ID == encryption.Migration(status)
	return facts, err
}

// encryptionConverged tells whether no API server runs with another configuration than that of the status. One that is ending still
// writes for a while, with the key of its own configuration.
func (p *pass) encryptionConverged(ctx context.Context, status *encryption.Status, live *appsv1.Deployment) (bool, error) {
	config, err := p.encryptionConfig(status)
	if err != nil {
		p.unusable = err
		return false, nil
	}
	hash := encryption.Hash(config)
	if _, rollout := component.DeploymentConditions(live); rollout.Status != metav1.ConditionTrue || live.Spec.Template.Annotations[apiserver.AnnotationEncryptionHash] != hash {
		return false, nil
	}
	pods := &corev1.PodList{}
	if err := p.Client.List(ctx, pods, client.InNamespace(p.hcp.Namespace), client.MatchingLabels{component.LabelApp: apiserver.Name}); err != nil {
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

func (p *pass) encryptionConfig(status *encryption.Status) ([]byte, error) {
	contents, err := encryption.KeysIn(p.secrets[encryption.ConfigSecret][encryption.ConfigKey])
	if err != nil {
		return nil, err
	}
	for name := range maps.Keys(p.secrets) {
		if key, found := p.localKey(name); found {
			contents = append(contents, key)
		}
	}
	write, read := encryption.Keys(status)
	vaultType := ""
	if kms := p.hcp.Spec.SecretEncryption.KMS; kms != nil && kms.Azure != nil {
		vaultType = kms.Azure.KeyVaultType
	}
	return encryption.Render(write, read, vaultType, encryption.ByHash(contents))
}

// localKey is the content of a key in the copy of the user's Secret.
func (p *pass) localKey(secret string) ([]byte, bool) {
	key, found := p.secrets[secret][hyperv1.AESCBCKeySecretKey]
	return key, found && len(key) > 0
}

// setEncryption tells whether everything is encrypted with the wanted key.
func (p *pass) setEncryption(set kube.ConditionSetter) {
	status := p.hcp.Status.SecretEncryption
	running := encryption.Running(status)
	switch {
	case p.hcp.Spec.SecretEncryption == nil:
		set.Remove(hyperv1.EtcdDataEncryptionUpToDate)
	case p.unusable != nil:
		set.False(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.InvalidConfigurationReason, p.unusable.Error())
	case running != nil && running.State == encryption.Migrating && p.migration.Problem != "":
		set.False(hyperv1.EtcdDataEncryptionUpToDate, hyperv1.ReEncryptionFailedReason, p.migration.Problem)
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

var rotationMessages = map[string]string{
	encryption.ReadOnlyDeploy: "every API server learns to read with the new key; the old one still writes",
	encryption.WritePromote:   "the new key begins to write; API servers that write with the old one are ending",
	encryption.Migrating:      "what the old key wrote is written again with the new one",
}

// endedAPIServers lets the event through that an API server is gone: a rotation waits for the last one with the former configuration.
var endedAPIServers = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	DeleteFunc:  func(e event.DeleteEvent) bool { return e.Object.GetLabels()[component.LabelApp] == apiserver.Name },
}

// inNamespace finds the control plane of an object that only shares its namespace.
func (r *Reconciler) inNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	list := &hyperv1.HostedControlPlaneList{}
	if err := r.Client.List(ctx, list, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
