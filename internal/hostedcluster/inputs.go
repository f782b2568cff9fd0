package hostedcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// Names and keys of the copies in the control-plane namespace.
const (
	sshKeySecret      = "ssh-key"
	signingKeySecret  = "sa-signing-key"
	userCABundle      = "user-ca-bundle"
	auditWebhookKey   = "webhook-kubeconfig"
	signingPrivateKey = "service-account.key"
	signingPublicKey  = "service-account.pub"

	referencedValue = "true"
	// copyLabel marks the copies that go when the HostedCluster no longer names them.
	copyLabel      = "hypershift.openshift.io/copied-for-hosted-cluster"
	copyLabelValue = "true"
)

// input is what a reference leads to.
type input struct {
	reference
	source client.Object
	// data of the copy; nil when problem says why there is none.
	data    map[string][]byte
	problem error
	// clashes: the name belongs to the control plane, to which it must therefore not be told as the user's.
	clashes bool
}

// readInputs follows every reference of the HostedCluster, once per pass.
func (p *pass) readInputs(ctx context.Context) error {
	list, err := references(p.hc)
	p.inputs = make([]input, 0, len(list))
	for _, r := range list {
		in := input{reference: r}
		if in.source, in.problem = p.readSource(ctx, r); in.problem == nil {
			in.data, in.problem = r.content(dataOf(in.source))
			if r.reports == hyperv1.ValidReleaseImage {
				// The look at the release tells of a pull secret that is missing, not of one without its key.
				in.reports = ""
			}
		}
		if in.problem == nil {
			in.problem = checkServingCertificate(p.hc, in)
		}
		clash, clashErr := p.clashes(ctx, r)
		switch {
		case clashErr != nil:
			in.problem = clashErr
		case clash:
			in.clashes, in.problem = true, r.clash()
		}
		p.inputs = append(p.inputs, in)
	}
	return err
}

func (p *pass) readSource(ctx context.Context, r reference) (client.Object, error) {
	source := newOf(r.kind)
	err := p.Get(ctx, client.ObjectKey{Namespace: p.hc.Namespace, Name: r.name}, source)
	if apierrors.IsNotFound(err) {
		return nil, r.missing(p.hc.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s %q: %w", r.field, r.kind, r.name, err)
	}
	return source, nil
}

func newOf(kind string) client.Object {
	if kind == configMapKind {
		return &corev1.ConfigMap{}
	}
	return &corev1.Secret{}
}

func dataOf(source client.Object) map[string][]byte {
	switch s := source.(type) {
	case *corev1.Secret:
		return s.Data
	case *corev1.ConfigMap:
		data := map[string][]byte{}
		for key, value := range s.Data {
			data[key] = []byte(value)
		}
		return data
	}
	return nil
}

// clashes tells whether a copy that keeps its name would overwrite an object that the control plane has, or will have.
func (p *pass) clashes(ctx context.Context, r reference) (bool, error) {
	if r.copyAs != "" || reserved(r.kind, r.name, p.infraID) {
		return r.copyAs == "", nil
	}
	existing := newOf(r.kind)
	err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: r.name}, existing)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: read %s %s/%s: %w", r.field, r.kind, p.namespace, r.name, err)
	}
	return !kube.AppliedBy(existing, fieldManager), nil
}

// checkReferences tells what is wrong with the user's objects. What is in order is brought on all the same.
func (p *pass) checkReferences(ctx context.Context) error {
	byCondition := map[hyperv1.ConditionType][]error{}
	for _, in := range p.inputs {
		byCondition[in.condition()] = append(byCondition[in.condition()], in.problem)
	}
	report := func(kind hyperv1.ConditionType, good, bad, healthy string) error {
		err := errors.Join(byCondition[kind]...)
		if err != nil {
			p.conditions().False(kind, bad, err.Error())
		} else {
			p.conditions().True(kind, good, healthy)
		}
		return err
	}
	problems := []error{
		errors.Join(byCondition[hyperv1.ValidHostedClusterConfiguration]...),
		report(hyperv1.ValidProxyConfiguration, hyperv1.AsExpectedReason, hyperv1.ProxyCABundleInvalidReason, "The proxy's certificates can be read, or none are named."),
		p.markReferenced(ctx),
	}
	if p.hc.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		problems = append(problems, report(hyperv1.UnmanagedEtcdAvailable, hyperv1.UnmanagedEtcdAsExpectedReason,
			hyperv1.UnmanagedEtcdMisconfigured, "The Secret with the client certificate of etcd is complete."))
	}
	return errors.Join(problems...)
}

// markReferenced annotates the user's objects, so that an edit of them leads back here. Nothing else of them is touched.
func (p *pass) markReferenced(ctx context.Context) error {
	var problems []error
	confirmed := false
	for _, in := range p.inputs {
		if in.source == nil || in.source.GetAnnotations()[p.referenceKey()] != "" {
			continue
		}
		if !confirmed {
			if err := p.confirm(ctx); err != nil {
				return err
			}
			confirmed = true
		}
		before, _ := in.source.DeepCopyObject().(client.Object)
		annotations := maps.Clone(in.source.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[p.referenceKey()] = referencedValue
		in.source.SetAnnotations(annotations)
		if err := p.Patch(ctx, in.source, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("mark %s %q as referenced: %w", in.kind, in.name, err))
		}
	}
	return errors.Join(problems...)
}

func (n names) referenceKey() string { return hyperv1.ReferencedResourcePrefix + "/" + n.cluster }

// copyRequired brings over what the control plane must not be started without. One that went missing afterwards leaves the former
// copy, with which the control plane goes on. A name that clashes must not even be handed down.
func (p *pass) copyRequired(ctx context.Context) error {
	if err := errors.Join(p.copyAll(ctx, true), p.ensureKMSConfig(ctx)); err != nil {
		return err
	}
	for _, in := range p.inputs {
		if in.clashes {
			return &steps.Stopped{Because: in.problem.Error()}
		}
		if !in.required || in.problem == nil {
			continue
		}
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: in.target()}, newOf(in.kind))
		if apierrors.IsNotFound(err) {
			return &steps.Stopped{Because: in.problem.Error()}
		}
		if err != nil {
			return fmt.Errorf("read %s %s/%s: %w", in.kind, p.namespace, in.target(), err)
		}
	}
	return nil
}

// copyOptional brings over what only its own users need, and removes copies under a name of the control plane's own choosing that are
// no longer wanted.
func (p *pass) copyOptional(ctx context.Context) error {
	problems := []error{p.copyAll(ctx, false)}
	for _, fixed := range []reference{{kind: secretKind, copyAs: sshKeySecret}, {kind: configMapKind, copyAs: userCABundle}} {
		if !slices.ContainsFunc(p.inputs, func(in input) bool { return in.copyAs == fixed.copyAs }) {
			problems = append(problems, p.deleteIn(ctx, newOf(fixed.kind), fixed.copyAs))
		}
	}
	return errors.Join(problems...)
}

// removeFormerCopies removes the user's credentials and files that are no longer named, after the control plane was told so.
func (p *pass) removeFormerCopies(ctx context.Context) error {
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	marked := []client.ListOption{client.InNamespace(p.namespace), client.MatchingLabels{copyLabel: copyLabelValue}}
	if err := errors.Join(p.List(ctx, secrets, marked...), p.List(ctx, configMaps, marked...)); err != nil {
		return fmt.Errorf("list the copies in namespace %s: %w", p.namespace, err)
	}
	var problems []error
	remove := func(kind string, made client.Object) {
		named := slices.ContainsFunc(p.inputs, func(in input) bool { return in.kind == kind && in.target() == made.GetName() })
		if !named && kube.AppliedBy(made, fieldManager) {
			problems = append(problems, kube.DeleteIfExists(ctx, p.Client, made))
		}
	}
	for i := range secrets.Items {
		remove(secretKind, &secrets.Items[i])
	}
	for i := range configMaps.Items {
		remove(configMapKind, &configMaps.Items[i])
	}
	return errors.Join(problems...)
}

// copyAll writes one copy for everything that one source is named for.
func (p *pass) copyAll(ctx context.Context, required bool) error {
	type target struct{ kind, name string }
	copies := map[target]client.Object{}
	var order []target
	isRequired, isKept := map[target]bool{}, map[target]bool{}
	for _, in := range p.inputs {
		at := target{in.kind, in.target()}
		isRequired[at] = isRequired[at] || in.required
		isKept[at] = isKept[at] || in.kept
		if in.problem != nil {
			continue
		}
		if copies[at] == nil {
			copies[at] = newCopy(in.kind, p.namespace, in.target())
			order = append(order, at)
		}
		in.addTo(copies[at])
	}
	var problems []error
	for _, at := range order {
		if isRequired[at] == required {
			if !isKept[at] {
				mark(copies[at])
			}
			problems = append(problems, p.apply(ctx, copies[at]))
		}
	}
	return errors.Join(problems...)
}

func mark(made client.Object) {
	labels := maps.Clone(made.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[copyLabel] = copyLabelValue
	made.SetLabels(labels)
}

func newCopy(kind, namespace, name string) client.Object {
	made := newOf(kind)
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}

// addTo puts what this reference needs into the copy.
func (in input) addTo(made client.Object) {
	switch c := made.(type) {
	case *corev1.Secret:
		if c.Data == nil {
			c.Data = map[string][]byte{}
		}
		maps.Copy(c.Data, in.data)
		c.Type = corev1.SecretTypeOpaque
		if source, ok := in.source.(*corev1.Secret); ok && in.whole && source.Type != "" {
			c.Type = source.Type
		}
		if in.copyAs == component.PullSecret {
			c.Type = corev1.SecretTypeDockerConfigJson
		}
	case *corev1.ConfigMap:
		if c.Data == nil {
			c.Data = map[string]string{}
		}
		for key, value := range in.data {
			c.Data[key] = string(value)
		}
	}
	if in.whole {
		made.SetLabels(maps.Clone(in.source.GetLabels()))
		made.SetAnnotations(foreignAnnotations(in.source.GetAnnotations()))
	}
}

// foreignAnnotations leaves out what describes the source itself; kubectl's note even holds its content.
func foreignAnnotations(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if key != corev1.LastAppliedConfigAnnotation && !strings.HasPrefix(key, hyperv1.ReferencedResourcePrefix+"/") {
			kept[key] = value
		}
	}
	return kept
}

func (p *pass) applySecret(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte) error {
	return p.apply(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.namespace}, Type: kind, Data: data,
	})
}

// adoptSecrets makes Secrets that were created for this cluster go away with it. Secrets of the user's are never touched.
func (p *pass) adoptSecrets(ctx context.Context) error {
	made := &corev1.SecretList{}
	if err := p.List(ctx, made, client.InNamespace(p.hc.Namespace), client.MatchingLabels{
		hyperv1.DeleteWithClusterLabel: "true", hyperv1.AutoInfraLabel: p.infraID,
	}); err != nil {
		return fmt.Errorf("list Secrets of infrastructure %s: %w", p.infraID, err)
	}
	owner := metav1.OwnerReference{
		APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Name: p.hc.Name, UID: p.hc.UID,
	}
	var problems []error
	for i := range made.Items {
		secret := &made.Items[i]
		if metav1.IsControlledBy(secret, p.hc) || ownedBy(secret, owner) {
			continue
		}
		before := secret.DeepCopy()
		secret.OwnerReferences = append(secret.OwnerReferences, owner)
		if err := p.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			problems = append(problems, fmt.Errorf("own Secret %s: %w", secret.Name, err))
		}
	}
	return errors.Join(problems...)
}

func ownedBy(obj client.Object, owner metav1.OwnerReference) bool {
	for _, reference := range obj.GetOwnerReferences() {
		if reference.UID == owner.UID {
			return true
		}
	}
	return false
}
