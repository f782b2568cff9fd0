package controlplane

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/autoscaler"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/backups"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/credentials"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/endpoints"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/keys"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/recovery"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/restoration"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/rotation"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/status"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// pass is one reconcile: what its steps learn from each other.
type pass struct {
	*Reconciler
	hcp    *hyperv1.HostedControlPlane
	write  component.Writer
	inputs *component.Inputs
	keys   *keys.Keys
	// rotation of the key that encrypts Secrets.
	rotation *rotation.Rotation
	// access is what the user has for images.
	access release.Access
	// release is the management side's, guest the hosted cluster's: the same one unless the control plane has its own.
	release   *release.Release
	guest     *release.Release
	endpoints publish.Endpoints
	// lock is for results: components run at the same time.
	lock    sync.Mutex
	results component.Results
	// reachable is the outcome of the probe of the published API server; nil error and false mean not probed.
	reachable bool
	probed    error
	// backups that were asked for.
	backups []hyperv1.HCPEtcdBackup
	// recovery of a member of etcd.
	recovery *recovery.Recovery
	// restoration of etcd from a backup, in place.
	restoration *restoration.Restoration
}

func newPass(r *Reconciler, hcp *hyperv1.HostedControlPlane) *pass {
	inputs, write := &component.Inputs{}, component.Writer{Client: r.Client, Keeper: &r.keeper, HCP: hcp}
	p := &pass{
		Reconciler: r, hcp: hcp, write: write, inputs: inputs,
		keys:     &keys.Keys{Writer: write, Inputs: inputs, Policy: r.Certificates, Now: r.Now},
		recovery: &recovery.Recovery{Writer: write, Settings: r.Settings}, restoration: &restoration.Restoration{Writer: write, Now: r.Now},
		rotation: &rotation.Rotation{Client: r.Client, HCP: hcp, Inputs: inputs, Now: r.Now},
	}
	p.rotation.Save = p.save
	return p
}

// run takes the steps of the plan. A step that fails keeps only those from running that build on it.
func (p *pass) run(ctx context.Context) error {
	err := plan.Run(ctx, client.ObjectKeyFromObject(p.hcp).String(), p).Err()
	slices.SortFunc(p.results, func(a, b component.Result) int { return cmp.Compare(p.position(a.Name), p.position(b.Name)) })
	return err
}

func (p *pass) readRelease(ctx context.Context) error {
	var err error
	if p.access, err = readAccess(ctx, p.Client, p.hcp); err != nil {
		return err
	}
	p.release, p.guest, err = readReleases(ctx, p.access, p.Releases, p.hcp)
	return err
}

func (p *pass) publish(ctx context.Context) error {
	var err error
	p.endpoints, err = endpoints.Publish(ctx, p.write, p.IngressDomain, p.Now())
	return err
}

// certifyAPIServer makes what the API server mounts. The address of its load balancer, which its certificate names, may have come
// while etcd's certificates were made.
func (p *pass) certifyAPIServer(ctx context.Context) error {
	if p.release != nil {
		p.keys.Payload = p.release.Kind()
	}
	if err := p.keys.MakeAuthorities(ctx, keys.ForAll); err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	var err error
	if p.endpoints, err = publish.Read(ctx, p.Client, p.hcp); err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	if err := p.publishLogin(ctx); err != nil {
		return err
	}
	if err := p.publishMetrics(ctx); err != nil {
		return err
	}
	if err := p.keys.Certify(ctx, keys.ForAPIServer, p.endpoints); err != nil || !p.keys.ServesAnew {
		return err
	}
	return apiserver.Reread(ctx, p.Client, p.hcp.Namespace, p.Now())
}

// publishLogin brings what is in front of the OAuth server, where the payload has one.
func (p *pass) publishLogin(ctx context.Context) error {
	if !p.view(ctx).LogsUsersIn() {
		return nil
	}
	if err := p.write.Apply(ctx, publish.LoginObjects(p.hcp, p.IngressDomain)...); err != nil {
		return fmt.Errorf("publish the OAuth server: %w", err)
	}
	endpoint, waiting, err := publish.ReadLogin(ctx, p.Client, p.hcp)
	if err != nil {
		return fmt.Errorf("read where the OAuth server is: %w", err)
	}
	p.endpoints.OAuth = endpoint
	if waiting != "" {
		p.endpoints.Waiting = append(p.endpoints.Waiting, waiting)
	}
	return nil
}

// publishMetrics brings what is in front of the proxy of metrics, where there is one. Nothing of the control plane waits for it.
func (p *pass) publishMetrics(ctx context.Context) error {
	view := p.view(ctx)
	if view.Payload != release.KindOpenShift {
		return nil
	}
	if !view.ForwardsMetrics() {
		return publish.RemoveMetrics(ctx, p.Client, p.hcp)
	}
	if err := p.write.Apply(ctx, publish.MetricsObjects(p.hcp, p.IngressDomain)...); err != nil {
		return fmt.Errorf("publish the proxy of metrics: %w", err)
	}
	endpoint, err := publish.ReadMetrics(ctx, p.Client, p.hcp)
	if err != nil {
		return fmt.Errorf("read where the proxy of metrics is: %w", err)
	}
	p.endpoints.Metrics = endpoint
	return nil
}

func (p *pass) encrypt(ctx context.Context) error {
	p.rotation.Secrets = p.keys.Secrets
	return p.rotation.Encrypt(ctx)
}

func (p *pass) view(ctx context.Context) *component.Context {
	view := &component.Context{Context: ctx, Client: p.Client, HCP: p.hcp, Settings: p.Settings, Keeper: &p.keeper, Inputs: p.inputs}
	if p.release != nil {
		view.Payload, view.Version, view.Images = p.release.Kind(), p.release.Version, autoscaler.Images(p.release.Images, p.hcp)
	}
	if p.release != nil && p.guest != nil {
		view.ReleaseImage, view.GuestReleaseImage = p.release.ByDigest(), p.guest.ByDigest()
		view.GuestVersion, view.GuestImages = p.guest.Version, p.guest.Images
		view.Catalog = func(name string) (string, error) { return p.Catalogs.Find(ctx, name, p.guest.Version, p.hcp, p.access) }
	}
	return view
}

// take does something with one component and keeps the result.
func (p *pass) take(ctx context.Context, name string, do func(*component.Context, component.Component) (component.Result, error)) error {
	view := p.view(ctx)
	one, _ := component.Named(components(p.endpoints), name, view.Payload)
	result, err := do(view, p.restoration.Hold(one))
	result = p.restoration.Correct(result)
	p.lock.Lock()
	defer p.lock.Unlock()
	p.results = append(p.results, result)
	return err
}

// beginEtcd waits until etcd runs for the first time: before, nobody but the API server, which is made already, could do anything, and the
// start of the others would take from theirs.
func (p *pass) beginEtcd(context.Context) error {
	if p.hcp.Status.Initialized || p.results.Available(contract.Etcd) || p.results.Of(contract.Etcd).Absent {
		return nil
	}
	return &steps.Waiting{For: "etcd, before which nobody but the API server starts"}
}

// position of a component in HyperShift's table.
func (p *pass) position(name string) int {
	return slices.IndexFunc(components(p.endpoints), func(c component.Component) bool { return c.Name == name })
}

// observeRest looks at the workloads of the components that had no turn, because the pass lacks what it would need to write them.
func (p *pass) observeRest(ctx context.Context) error {
	var problems []error
	for _, id := range componentIDs() {
		if name := string(id); !p.results.Has(name) {
			problems = append(problems, p.take(ctx, name, component.Observe))
		}
	}
	return errors.Join(problems...)
}

// grantAccess writes into the guest what must be there before anybody else can work in it.
func (p *pass) grantAccess(ctx context.Context) error {
	if !p.results.Available(contract.APIServer) || !p.granted.due(p.hcp.UID, p.Now()) {
		return nil
	}
	before, known := p.hcp.DeepCopy(), p.status()
	// Who waits for the API server is told before the first rights are written, which takes a moment.
	known.Serving()
	if err := p.save(ctx, before); err != nil {
		return err
	}
	if err := grant(ctx, p.Guest, p.inputs); err != nil {
		return err
	}
	p.granted.done(p.hcp.UID, p.Now())
	return nil
}

// forgetLeaders takes away the leases that came with a backup, once the API server serves them and before anybody waits for them.
func (p *pass) forgetLeaders(ctx context.Context) error {
	begins := etcd.SnapshotURL(p.hcp) != "" && !p.hcp.Status.Initialized
	if !p.results.Available(contract.APIServer) || !begins && !p.restoration.Serving() {
		return nil
	}
	guest, err := admin(p.Guest, p.inputs)
	if err != nil {
		return err
	}
	var names []string
	for _, id := range componentIDs() {
		names = append(names, string(id))
	}
	if err := restoration.ForgetLeaders(ctx, guest, names); err != nil || !p.restoration.Serving() {
		return err
	}
	return p.restoration.Served(ctx)
}

// probe asks the published API server, once there is one, for its health.
func (p *pass) probe(ctx context.Context) {
	if !p.results.Available(contract.APIServer) || !p.endpoints.APIServer.Known() {
		return
	}
	p.probed = endpoints.Ask(ctx, p.Probe, p.endpoints.APIServer, p.keys.Secrets, p.hcp.Status.Ready)
	p.reachable = p.probed == nil
	if misnamed := (x509.HostnameError{}); errors.As(p.probed, &misnamed) {
		// A kubelet may have looked before it heard of the certificate that names the address.
		p.probed = errors.Join(p.probed, apiserver.Reread(ctx, p.Client, p.hcp.Namespace, p.Now()))
	}
}

// readBackups finds the backups of this etcd, where the kind is served.
func (p *pass) readBackups(ctx context.Context) error {
	if !p.Backups {
		return nil
	}
	list := &hyperv1.HCPEtcdBackupList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.hcp.Namespace)); err != nil {
		return fmt.Errorf("list the backups: %w", err)
	}
	p.backups = list.Items
	return nil
}

// signer signs tokens of the guest's accounts for who signs in to Azure.
func (p *pass) signer() credentials.Signer {
	return credentials.Signer{Key: p.keys.SigningKey(), Issuer: p.hcp.Spec.IssuerURL, Now: p.Now}
}

// status is what the pass knows so far.
func (p *pass) status() *status.Status {
	_, malformed := keys.ReplaceBefore(p.hcp)
	return &status.Status{
		Client: p.Client, HCP: p.hcp, Now: p.Now,
		Release: p.release, GuestRelease: p.guest, ManagementRelease: managementRelease(p.hcp), Endpoints: p.endpoints,
		Components: components(p.endpoints), OpenShiftOnly: openShiftOnly, Results: p.results,
		Reachable: p.reachable, Probed: p.probed, Invalid: errors.Join(p.rotation.Unusable, malformed),
		Azure: func(set kube.ConditionSetter) {
			p.vaults.Tell(p.hcp, set)
			p.signIns.Tell(p.hcp, p.results, set)
		},
		Encryption: p.rotation.Tell,
		Backups: func(set kube.ConditionSetter) {
			backups.Tell(p.backups, p.hcp.Annotations[hyperv1.EtcdBackupScheduleAnnotation], set)
		},
		Recovery: p.recovery.Tell, Restoration: p.restoration.Tell,
	}
}

// tell writes the status; failed is what became of the steps.
func (p *pass) tell(ctx context.Context, failed error) error {
	before := p.hcp.DeepCopy()
	keys.TellKubeconfigs(p.hcp, p.endpoints, p.keys.Secrets)
	p.status().Set(ctx, failed)
	return p.save(ctx, before)
}

// save writes the status unless it is as it was before.
func (p *pass) save(ctx context.Context, before *hyperv1.HostedControlPlane) error {
	return status.Write(ctx, p.Client, before, p.hcp)
}
