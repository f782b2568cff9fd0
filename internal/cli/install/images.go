package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/version"
)

// chooseImages takes the images that no flag names from the registry that has them: that of --image-registry,
// else that of the hand-off file.
func (f *installFlags) chooseImages() error {
	if err := f.openRecord(); err != nil {
		return err
	}
	if !f.set.Changed("image-registry") && f.record.File != nil && f.record.Images != nil {
		f.registry = f.record.Images.Registry
	}
	f.registry = strings.TrimSuffix(f.registry, "/")
	if f.registry == "" {
		return nil
	}
	if err := checkRegistry(f.registry); err != nil {
		return err
	}
	if !f.set.Changed("hypershift-image") {
		f.Image = version.OperatorImageIn(f.registry)
	}
	if !f.set.Changed("external-dns-image") {
		f.ExternalDNS.Image = version.ExternalDNSImageIn(f.registry)
	}
	return nil
}

// openRecord reads the hand-off file, which must be there unless this run is to write it.
func (f *installFlags) openRecord() error {
	switch {
	case f.record.Path == "":
		return nil
	case f.set.Changed("image-registry"):
		return f.record.OpenWritten()
	}
	return f.record.MustOpen()
}

// recorded are the images by digest that `images publish` of this version has left in the hand-off file, by the names that they are given.
func (f *installFlags) recorded() map[string]string {
	if f.record.File == nil || f.record.Images == nil || f.record.Images.Registry != f.registry || f.record.Images.Version != version.Version {
		return nil
	}
	exact := map[string]string{}
	for given, name := range map[string]string{version.OperatorImageIn(f.registry): contract.Operator, version.ExternalDNSImageIn(f.registry): contract.ExternalDNS} {
		if reference := f.record.Images.References[name]; strings.Contains(reference, "@") && install.SameRepository(reference, given) {
			exact[given] = reference
		}
	}
	return exact
}

// recordRegistry has the hand-off file name the registry that was typed, for later commands.
func (f *installFlags) recordRegistry() error {
	if f.record.Path == "" || !f.set.Changed("image-registry") || f.record.Images != nil && f.record.Images.Registry == f.registry {
		return nil
	}
	if err := f.record.Lock(); err != nil {
		return err
	}
	f.record.Images = &handoff.Images{Registry: f.registry, Version: version.Version}
	return f.record.Save(nil)
}

// checkRegistry wants REGISTRY[/PATH]: the name of a host comes first, or images would be those of Docker's own registry.
func checkRegistry(registry string) error {
	host, _, _ := strings.Cut(registry, "/")
	_, err := name.NewRepository(registry + "/hypershift-operator")
	if err != nil || strings.Contains(registry, "://") || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return fmt.Errorf("--image-registry %q is no registry like registry.example.com or registry.example.com/hypershift, without https:// and tag", registry)
	}
	return nil
}

// describe asks an image's registry about it.
type describe func(ctx context.Context, image string) (*release.Description, error)

// describeImage asks with the pull secret, else with the credentials of who installs, over this machine's proxy and with its trust.
func describeImage(o *install.Options) describe {
	return func(ctx context.Context, image string) (*release.Description, error) {
		ctx, cancel := context.WithTimeout(ctx, preflightLimit)
		defer cancel()
		return release.Reader{Keychain: authn.DefaultKeychain}.Describe(ctx, image, release.Access{PullSecret: o.PullSecret, TrustBundle: o.TrustBundle})
	}
}

// checkImages finds images that are not there or that no node can run, and has those that are there written by digest. What cannot be
// looked at from here is left to the nodes.
func (i *installer) checkImages(ctx context.Context) error {
	if i.opts.ImagePullPolicy == string(corev1.PullNever) {
		return nil
	}
	wanted, err := i.nodeArchitectures(ctx)
	if err != nil {
		return err
	}
	i.opts.Pinned = map[string]string{}
	var errs []error
	for _, image := range i.opts.Images() {
		found, err := i.describe(ctx, image)
		switch {
		case err == nil:
			errs = append(errs, i.checkArchitectures(image, found.Architectures, wanted))
			i.pin(image, install.ByDigest(image, found.Digest))
		case i.published(image) && isMissing(err):
			errs = append(errs, fmt.Errorf("image %s is not in the registry; publish it there with: hypershift images publish --to %s", image, i.registry))
		default:
			i.say("warning: cannot tell which nodes %s runs on: %v", image, err)
			if err := i.pinUnseen(ctx, image); err != nil {
				return err
			}
		}
	}
	return errors.Join(errs...)
}

// nodeArchitectures are those of the management cluster.
func (i *installer) nodeArchitectures(ctx context.Context) ([]string, error) {
	nodes := &corev1.NodeList{}
	if err := i.client.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("cannot list the nodes of the management cluster: %w", err)
	}
	var wanted []string
	for n := range nodes.Items {
		if arch := nodes.Items[n].Status.NodeInfo.Architecture; arch != "" && !slices.Contains(wanted, arch) {
			wanted = append(wanted, arch)
		}
	}
	return wanted, nil
}

// checkArchitectures refuses an image that no node can run, and warns of one that some cannot.
func (i *installer) checkArchitectures(image string, offered, wanted []string) error {
	missing := slices.DeleteFunc(slices.Clone(wanted), func(arch string) bool { return slices.Contains(offered, arch) })
	remedy := "give an image for them"
	if i.published(image) {
		remedy = "push an image for them"
	}
	switch {
	case len(missing) == 0:
	case len(missing) == len(wanted):
		return fmt.Errorf("image %s is for %s, and the nodes of the management cluster are %s; %s", image, strings.Join(offered, ", "), strings.Join(wanted, ", "), remedy)
	default:
		i.say("warning: image %s is not for %s; its pods fail on such nodes of the management cluster; %s", image, strings.Join(missing, ", "), remedy)
	}
	return nil
}

// published tells whether the image is one of this version in the chosen registry.
func (i *installer) published(image string) bool {
	return i.registry != "" && (image == version.OperatorImageIn(i.registry) || image == version.ExternalDNSImageIn(i.registry))
}

func (i *installer) pin(image, exact string) {
	if image != exact {
		i.opts.Pinned[image] = exact
	}
}

// pinUnseen writes an image by digest whose registry does not answer: as it was published, else as an earlier installation wrote it under
// the same name. That the registry is away now is no reason to start the pods anew.
func (i *installer) pinUnseen(ctx context.Context, image string) error {
	if exact := i.recorded[image]; exact != "" {
		i.pin(image, exact)
		return nil
	}
	deployments := &appsv1.DeploymentList{}
	if err := i.client.List(ctx, deployments, client.InNamespace(i.opts.Namespace)); err != nil {
		return fmt.Errorf("cannot list the Deployments of an earlier installation: %w", err)
	}
	for _, d := range deployments.Items {
		if !madeByInstall(&d) || d.Annotations[install.GivenImageAnnotation] != image {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if install.SameRepository(c.Image, image) {
				i.pin(image, c.Image)
			}
		}
	}
	return nil
}

// isMissing tells whether the registry answered that it has no such image.
func isMissing(err error) bool {
	var failure *release.Error
	return errors.As(err, &failure) && failure.Reason == release.ReasonNotFound
}

// pinAll writes every image by digest, for what is applied without this program; one that cannot be looked at is an error.
func (f *installFlags) pinAll(ctx context.Context, ask describe) error {
	f.Pinned = map[string]string{}
	for _, image := range f.Images() {
		found, err := ask(ctx, image)
		if err != nil {
			return fmt.Errorf("--resolve-images: %w", err)
		}
		f.Pinned[image] = install.ByDigest(image, found.Digest)
	}
	return nil
}
