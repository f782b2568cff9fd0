package controlplane

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/publish"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// pass is one reconcile: what its steps learn from each other.
type pass struct {
	*Reconciler
	hcp    *hyperv1.HostedControlPlane
	inputs *component.Inputs
	// release is the management side's, guest the hosted cluster's: the same one unless the control plane has its own.
	release   *release.Release
	guest     *release.Release
	endpoints publish.Endpoints
	live      map[string]*corev1.Secret
	secrets   pki.Secrets
	results   []component.Result
	// reachable is the outcome of the probe of the published API server; nil error and false mean not probed.
	reachable bool
	probed    error
	// unusable says why an encryption key cannot be used; migration is how far a running rotation is with writing everything again.
	unusable  error
	migration encryption.Report
}

// run takes the steps. The release is read from a registry while the first keys are made; a step that fails keeps only those from
// running that build on it, and the workloads are looked at in any case.
func (p *pass) run(ctx context.Context) error {
	read := errgroup.Group{}
	read.Go(func() error { return named("read release", p.readRelease(ctx)) })
	err := named("publish endpoints", p.publish(ctx))
	if err == nil {
		err = named("read certificates", p.readSecrets(ctx))
	}
	if err == nil {
		err = named("certificates of etcd", p.certify(ctx, forEtcd))
	}
	if err = errors.Join(err, read.Wait()); err == nil {
		err = p.reconcileAll(ctx)
	}
	if all := components(p.endpoints); err != nil && len(p.results) < len(all) && !errors.Is(err, errBehind) {
		err = errors.Join(err, p.observe(ctx, all[len(p.results):]))
	}
	p.checkVault(ctx)
	p.probeAPI(ctx)
	return err
}

// reconcileAll starts etcd, then the API server, before it makes what only the others need: their start is the longest wait of a
// control plane, and keys can be made meanwhile.
func (p *pass) reconcileAll(ctx context.Context) error {
	first := p.reconcile(ctx, components(p.endpoints)[:1])
	if err := p.certifyAPIServer(ctx); err != nil {
		return errors.Join(first, err)
	}
	if err := named("encryption of Secrets", p.encrypt(ctx)); err != nil {
		return errors.Join(first, err)
	}
	second := p.reconcile(ctx, components(p.endpoints)[1:2])
	if err := named("certificates", p.certify(ctx, forAll)); err != nil {
		return errors.Join(first, second, err)
	}
	return errors.Join(first, second,
		named("ignition configuration", p.ignitionConfiguration(ctx)), p.reconcile(ctx, components(p.endpoints)[2:]),
		named("access to the guest", p.grantAccess(ctx)), named("monitors", p.monitorComponents(ctx)))
}

// certifyAPIServer makes what the API server mounts. The address of its load balancer, which its certificate names, may have come
// while etcd's certificates were made.
func (p *pass) certifyAPIServer(ctx context.Context) error {
	if err := named("service account key", p.makeServiceAccountKey(ctx)); err != nil {
		return err
	}
	if err := named("authorities", p.makeAuthorities(ctx, forAll)); err != nil {
		return err
	}
	var err error
	if p.endpoints, err = publish.Read(ctx, p.Client, p.hcp); err != nil {
		return named("read endpoints", err)
	}
	return named("certificates of the API server", p.certify(ctx, forAPIServer))
}

func named(step string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

func (p *pass) readRelease(ctx context.Context) error {
	pull := &corev1.Secret{}
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.hcp.Namespace, Name: component.PullSecret}, pull); err != nil {
		return fmt.Errorf("read the copy of the pull secret: %w", err)
	}
	trust := &corev1.ConfigMap{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.hcp.Namespace, Name: "user-ca-bundle"}, trust)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the user's trust bundle: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	access := release.Access{
		PullSecret: pull.Data[hyperv1.PullSecretKey], TrustBundle: []byte(trust.Data[hyperv1.TrustBundleKey]),
		Mirrors: release.ContentSources(p.hcp.Spec.ImageContentSources),
	}
	if p.release, err = p.Releases.Lookup(limited, managementRelease(p.hcp), access); err != nil {
		return err
	}
	p.guest = p.release
	if managementRelease(p.hcp) != p.hcp.Spec.ReleaseImage {
		p.guest, err = p.Releases.Lookup(limited, p.hcp.Spec.ReleaseImage, access)
	}
	return err
}

func (p *pass) publish(ctx context.Context) error {
	err := p.applyEach(ctx, publish.Objects(p.hcp, p.IngressDomain))
	if err != nil {
		return err
	}
	err = publish.Admit(ctx, p.Client, p.hcp, p.Now())
	if apierrors.IsConflict(err) {
		return errBehind
	}
	if err != nil {
		return err
	}
	p.endpoints, err = publish.Read(ctx, p.Client, p.hcp)
	return err
}

func (p *pass) ignitionConfiguration(ctx context.Context) error {
	key := &corev1.Secret{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.hcp.Namespace, Name: "ssh-key"}, key)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the copy of the SSH key: %w", err)
	}
	maps, err := ignition.CoreConfigMaps(p.hcp.Namespace, string(key.Data[hyperv1.SSHPublicKeyKey]))
	if err != nil {
		return err
	}
	for _, m := range maps {
		component.Own(p.hcp, m)
		if err := p.keeper.Apply(ctx, p.Client, component.FieldManager, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) view(ctx context.Context) *component.Context {
	view := &component.Context{Context: ctx, Client: p.Client, HCP: p.hcp, Settings: p.Settings, Keeper: &p.keeper, Inputs: p.inputs}
	if p.release != nil {
		view.Version, view.Images = p.release.Version, p.release.Images
	}
	return view
}

// reconcile does not stop at a failure: a broken component must not keep the others from their repair.
func (p *pass) reconcile(ctx context.Context, some []component.Component) error {
	return p.each(ctx, some, component.Reconcile)
}

// observe only reads, when the pass lacks what it would need to write.
func (p *pass) observe(ctx context.Context, some []component.Component) error {
	return p.each(ctx, some, component.Observe)
}

func (p *pass) each(ctx context.Context, some []component.Component, do func(*component.Context, component.Component) (component.Result, error)) error {
	results, errs := make([]component.Result, len(some)), make([]error, len(some))
	group := errgroup.Group{}
	for i, c := range some {
		group.Go(func() error {
			results[i], errs[i] = do(p.view(ctx), c)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	p.results = append(p.results, results...)
	return errors.Join(errs...)
}

// result of a component; an unknown one is not available.
func (p *pass) result(name string) component.Result {
	for _, r := range p.results {
		if r.Name == name {
			return r
		}
	}
	return component.Result{Name: name}
}

func (p *pass) apiServerAvailable() bool {
	return p.result(component.APIServer).Available.Status == metav1.ConditionTrue
}

func (p *pass) writeStatus(ctx context.Context, before *hyperv1.HostedControlPlane) error {
	if statusEqual(before, p.hcp) {
		return nil
	}
	// An update, not a merge patch: it locks on the version, because the config operator writes conditions of the same list, and it
	// keeps the nulls that the version status requires.
	err := p.Client.Status().Update(ctx, p.hcp)
	if apierrors.IsConflict(err) {
		return errBehind
	}
	if err != nil {
		return fmt.Errorf("write the status of HostedControlPlane %s: %w", p.hcp.Name, err)
	}
	return nil
}
