package inputs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// CopyRequired brings over what the control plane must not be started without. One that went missing afterwards leaves the former
// copy, with which the control plane goes on. A name that clashes must not even be handed down.
func CopyRequired(ctx context.Context, c *cluster.Cluster, inputs Inputs) error {
	if err := errors.Join(copyAll(ctx, c, inputs, true), ensureKMSConfig(ctx, c)); err != nil {
		return err
	}
	for _, in := range inputs {
		if in.clashes {
			return &steps.Stopped{Because: in.problem.Error()}
		}
		if !in.required || in.problem == nil {
			continue
		}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: in.target()}, newOf(in.kind))
		if apierrors.IsNotFound(err) {
			return &steps.Stopped{Because: in.problem.Error()}
		}
		if err != nil {
			return fmt.Errorf("read %s %s/%s: %w", in.kind, c.Namespace, in.target(), err)
		}
	}
	return nil
}

// CopyOptional brings over what only its own users need, and removes copies under a name of the control plane's own choosing that are
// no longer wanted.
func CopyOptional(ctx context.Context, c *cluster.Cluster, inputs Inputs) error {
	problems := []error{copyAll(ctx, c, inputs, false)}
	for _, fixed := range []reference{{kind: SecretKind, copyAs: contract.SSHKey}, {kind: ConfigMapKind, copyAs: contract.UserCABundle}} {
		if !slices.ContainsFunc(inputs, func(in input) bool { return in.copyAs == fixed.copyAs }) {
			problems = append(problems, c.Remove(ctx, newOf(fixed.kind), fixed.copyAs))
		}
	}
	return errors.Join(problems...)
}

// RemoveFormer removes the user's credentials and files that are no longer named, after the control plane was told so.
func RemoveFormer(ctx context.Context, c *cluster.Cluster, inputs Inputs) error {
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	marked := []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabels{copyLabel: copyLabelValue}}
	if err := errors.Join(c.Client.List(ctx, secrets, marked...), c.Client.List(ctx, configMaps, marked...)); err != nil {
		return fmt.Errorf("list the copies in namespace %s: %w", c.Namespace, err)
	}
	var problems []error
	remove := func(kind string, made client.Object) {
		named := slices.ContainsFunc(inputs, func(in input) bool { return in.kind == kind && in.target() == made.GetName() })
		if !named && kube.AppliedBy(made, cluster.FieldManager) {
			problems = append(problems, kube.DeleteIfExists(ctx, c.Client, made))
		}
	}
	for i := range secrets.Items {
		remove(SecretKind, &secrets.Items[i])
	}
	for i := range configMaps.Items {
		remove(ConfigMapKind, &configMaps.Items[i])
	}
	return errors.Join(problems...)
}

// copyAll writes one copy for everything that one source is named for.
func copyAll(ctx context.Context, c *cluster.Cluster, inputs Inputs, required bool) error {
	type target struct{ kind, name string }
	copies := map[target]client.Object{}
	var order []target
	isRequired, isKept := map[target]bool{}, map[target]bool{}
	for _, in := range inputs {
		at := target{in.kind, in.target()}
		isRequired[at] = isRequired[at] || in.required
		isKept[at] = isKept[at] || in.kept
		if in.problem != nil {
			continue
		}
		if copies[at] == nil {
			copies[at] = newCopy(in.kind, c.Namespace, in.target())
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
			problems = append(problems, c.Apply(ctx, copies[at]))
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
		if source, ok := in.source.(*corev1.Secret); ok && source.Type == corev1.SecretTypeTLS && hasAll(c.Data, serving) {
			c.Type = source.Type
		}
		if in.copyAs == contract.PullSecret {
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

func hasAll(data map[string][]byte, keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { _, has := data[key]; return !has })
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
