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
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// keepFormer has what an earlier installation was given and this one is not stay in use, and says so: whoever upgrades the operator does
// not mean to take ExternalDNS, the pull secret, the authorities or the keys of releases away.
func (i *installer) keepFormer(ctx context.Context) error {
	if i.removeExternalDNS && i.opts.ExternalDNS.Provider != "" {
		return errors.New("--remove-external-dns and --external-dns-provider exclude each other")
	}
	for _, file := range i.files() {
		if err := i.keepFile(ctx, file); err != nil {
			return err
		}
	}
	return i.keepExternalDNS(ctx)
}

// givenFile is what install makes of a flag's file: an object, which has it under a key.
type givenFile struct {
	flag   string
	into   *[]byte
	object client.Object
	key    string
}

func (i *installer) files() []givenFile {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: i.opts.Namespace, Name: name} }
	return []givenFile{
		{"pull-secret", &i.opts.PullSecret, &corev1.Secret{ObjectMeta: named("pull-secret")}, corev1.DockerConfigJsonKey},
		{"additional-trust-bundle", &i.opts.TrustBundle, &corev1.ConfigMap{ObjectMeta: named(contract.UserCABundle)}, hyperv1.TrustBundleKey},
		{"release-signature-keys", &i.opts.ReleaseSignatureKeys, &corev1.ConfigMap{ObjectMeta: named(contract.ReleaseSignatureKeys)}, install.ReleaseKeysKey},
	}
}

// dropFiles deletes the objects of flags that were given empty, or a later installation would keep what is in them.
func (i *installer) dropFiles(ctx context.Context) error {
	var errs []error
	for _, file := range i.files() {
		if len(*file.into) == 0 && i.given != nil && i.given(file.flag) {
			errs = append(errs, i.drop(ctx, file.object))
		}
	}
	return errors.Join(errs...)
}

// keepFile takes the content of a flag's file from what an earlier installation made of it; a flag that is given empty takes it away.
func (i *installer) keepFile(ctx context.Context, file givenFile) error {
	if len(*file.into) > 0 || i.given != nil && i.given(file.flag) {
		return nil
	}
	key := client.ObjectKeyFromObject(file.object)
	err := i.client.Get(ctx, key, file.object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read %s of an earlier installation: %w", key, err)
	}
	if !madeByInstall(file.object) {
		return nil
	}
	switch found := file.object.(type) {
	case *corev1.Secret:
		*file.into = found.Data[file.key]
	case *corev1.ConfigMap:
		*file.into = []byte(found.Data[file.key])
	}
	if len(*file.into) > 0 {
		i.say("kept what an earlier installation was given with --%s; give it empty to do without", file.flag)
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
