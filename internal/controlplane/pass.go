package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/encryption"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
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
	// lock is for results: components run at the same time.
	lock    sync.Mutex
	results []component.Result
	// trouble of a workload is what keeps its pods from serving.
	trouble map[string]string
	// reachable is the outcome of the probe of the published API server; nil error and false mean not probed.
	reachable bool
	probed    error
	// unusable says why an encryption key cannot be used; migration is how far a running rotation is with writing everything again.
	unusable  error
	migration encryption.Report
}

// run takes the steps of the plan. A step that fails keeps only those from running that build on it.
func (p *pass) run(ctx context.Context) error {
	err := plan.Run(ctx, client.ObjectKeyFromObject(p.hcp).String(), p).Err()
	slices.SortFunc(p.results, func(a, b component.Result) int { return cmp.Compare(p.position(a.Name), p.position(b.Name)) })
	return err
}

// certifyAPIServer makes what the API server mounts. The address of its load balancer, which its certificate names, may have come
// while etcd's certificates were made.
func (p *pass) certifyAPIServer(ctx context.Context) error {
	if err := p.makeAuthorities(ctx, forAll); err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	var err error
	if p.endpoints, err = publish.Read(ctx, p.Client, p.hcp); err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	return p.certify(ctx, forAPIServer)
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

// take does something with one component and keeps the result.
func (p *pass) take(ctx context.Context, name string, do func(*component.Context, component.Component) (component.Result, error)) error {
	all := components(p.endpoints)
	result, err := do(p.view(ctx), all[p.position(name)])
	p.lock.Lock()
	defer p.lock.Unlock()
	p.results = append(p.results, result)
	return err
}

// position of a component in HyperShift's table.
func (p *pass) position(name string) int {
	return slices.IndexFunc(components(p.endpoints), func(c component.Component) bool { return c.Name == name })
}

// observeRest looks at the workloads of the components that had no turn, because the pass lacks what it would need to write them.
func (p *pass) observeRest(ctx context.Context) error {
	var problems []error
	for _, c := range components(p.endpoints) {
		if !slices.ContainsFunc(p.results, func(r component.Result) bool { return r.Name == c.Name }) {
			problems = append(problems, p.take(ctx, c.Name, component.Observe))
		}
	}
	return errors.Join(problems...)
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
