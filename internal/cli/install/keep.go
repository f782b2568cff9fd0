package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// keepFormer has what an earlier installation was given and this one is not stay in use, and says so: whoever upgrades the operator does
// not mean to take ExternalDNS, the pull secret or the authorities away.
func (i *installer) keepFormer(ctx context.Context) error {
	if i.removeExternalDNS && i.opts.ExternalDNS.Provider != "" {
		return errors.New("--remove-external-dns and --external-dns-provider exclude each other")
	}
	if err := i.keepFile(ctx, &i.opts.PullSecret, "pull-secret", &corev1.Secret{}, "pull-secret"); err != nil {
		return err
	}
	if err := i.keepFile(ctx, &i.opts.TrustBundle, "additional-trust-bundle", &corev1.ConfigMap{}, "user-ca-bundle"); err != nil {
		return err
	}
	return i.keepExternalDNS(ctx)
}

// keepFile takes the content of a flag's file from what an earlier installation made of it; a flag that is given empty takes it away.
func (i *installer) keepFile(ctx context.Context, into *[]byte, flag string, live client.Object, name string) error {
	if len(*into) > 0 || i.given != nil && i.given(flag) {
		return nil
	}
	err := i.client.Get(ctx, client.ObjectKey{Namespace: i.opts.Namespace, Name: name}, live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s/%s of an earlier installation: %w", i.opts.Namespace, name, err)
	}
	if !madeByInstall(live) {
		return nil
	}
	switch found := live.(type) {
	case *corev1.Secret:
		*into = found.Data[corev1.DockerConfigJsonKey]
	case *corev1.ConfigMap:
		*into = []byte(found.Data[hyperv1.TrustBundleKey])
	}
	if len(*into) > 0 {
		i.say("kept what an earlier installation was given with --%s; give it empty to do without", flag)
	}
	return nil
}

// keepExternalDNS leaves it exactly as it is: its settings are its own flags.
func (i *installer) keepExternalDNS(ctx context.Context) error {
	if i.opts.ExternalDNS.Provider != "" || i.removeExternalDNS {
		return nil
	}
	d := &appsv1.Deployment{}
	err := i.client.Get(ctx, client.ObjectKey{Namespace: i.opts.Namespace, Name: install.ExternalDNSRole}, d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot tell whether an earlier installation has ExternalDNS: %w", err)
	}
	if madeByInstall(d) {
		i.say("kept ExternalDNS of an earlier installation as it is (%s); to change or upgrade it give its --external-dns flags, to remove it --remove-external-dns", describeDNS(d))
	}
	return nil
}

// describeDNS is what ExternalDNS was told.
func describeDNS(d *appsv1.Deployment) string {
	var told []string
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if strings.HasPrefix(arg, "--provider=") || strings.HasPrefix(arg, "--domain-filter=") {
				told = append(told, strings.TrimPrefix(arg, "--"))
			}
		}
		told = append(told, "image "+c.Image)
	}
	return strings.Join(told, ", ")
}

// dropExternalDNS removes what install makes for it. The records that it has written stay: hosted clusters may live by them.
func (i *installer) dropExternalDNS(ctx context.Context) error {
	if !i.removeExternalDNS {
		return nil
	}
	without, with := map[string]bool{}, install.Everything(i.opts.Namespace)
	bare := *with
	bare.ExternalDNS = install.ExternalDNS{}
	for _, obj := range bare.Objects() {
		without[kindAndName(obj)] = true
	}
	objects := slices.DeleteFunc(with.Objects(), func(obj client.Object) bool { return without[kindAndName(obj)] })
	slices.Reverse(objects)
	var errs []error
	for _, obj := range objects {
		errs = append(errs, i.drop(ctx, obj))
	}
	i.say("ExternalDNS is removed; the records that it has written stay, and nobody keeps them any more")
	return errors.Join(errs...)
}

func (i *installer) drop(ctx context.Context, obj client.Object) error {
	gvk, err := i.client.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(gvk)
	err = i.client.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) || err == nil && !madeByInstall(live) {
		return nil
	}
	if err == nil {
		err = i.client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete %s: %w", kindAndName(obj), err)
	}
	i.applied("deleted", obj)
	return nil
}
