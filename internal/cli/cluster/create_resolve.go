package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/cluster/existing"
	"github.com/hypershift-on-azure/hypershift/internal/cli/imagecheck"
	"github.com/hypershift-on-azure/hypershift/internal/cli/machines"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/infraid"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// resolved is a validated cluster with what was looked up for it: the session, the management cluster, the cluster of this name that is
// there already, the release. Nothing is written so far.
type resolved struct {
	typed    typed
	location string // of the infrastructure; that of a cluster which is there, unless another was typed
	cluster  manifest.Cluster
	infra    infra.Options

	session  *azure.Session
	client   client.Client          // nil where only a rendering is asked for
	existing *hyperv1.HostedCluster // nil where there is none
	release  *release.Release       // nil where the payload was not read, or not from here

	asked       map[string]string     // of a cluster that is there: what this run and earlier ones ask for, by object and field
	differences []existing.Difference // of it from that
}

// resolve asks Azure and the management cluster what has to be known before anything is made.
func (c *creation) resolve(ctx context.Context, v validated) (resolved, error) {
	r := resolved{typed: v.typed, location: v.typed.Location, cluster: v.cluster, infra: v.infra}
	var err error
	if r.session, err = v.typed.session(); err != nil {
		return r, err
	}
	r.cluster.Identity.SubscriptionID, r.cluster.Identity.TenantID = r.session.SubscriptionID, r.session.TenantID
	if err := c.askManagementCluster(ctx, &r); err != nil {
		return r, err
	}
	if r.existing != nil {
		if r, err = c.compare(ctx, r.continued()); err != nil {
			return r, err
		}
	}
	found, err := c.checkRelease(ctx, r)
	if err := errors.Join(c.checkSigner(ctx, r), err); err != nil {
		return r, err
	}
	r.release = found
	if r.infra.InfraID == "" && r.typed.infraJSON == "" {
		r.infra.InfraID = infraid.New(r.cluster.Name)
		journey := progress.JourneyOf(ctx)
		journey.Advise("to go on with the same cluster, type: " + journey.Typed("--infra-id", r.infra.InfraID))
	}
	if terms := r.typed.machines.Terms(r.session.SubscriptionID); terms != "" {
		c.say(machines.TermsNotice, terms)
	}
	if r.typed.infraJSON == "" {
		err = r.infra.Validate()
	}
	return r, err
}

// session signs in; a rendering that asks Azure nothing takes from the hand-off file in which subscription the cluster is.
func (t typed) session() (*azure.Session, error) {
	if t.Credentials == "" && t.rendersHandoff() {
		return azure.NewSession(azure.Credentials{SubscriptionID: t.handed.subscriptionID, TenantID: t.handed.tenantID}, t.Cloud)
	}
	return t.Session()
}

// askManagementCluster completes what is resolved by what only the management cluster knows. Rendering needs it only for that.
func (c *creation) askManagementCluster(ctx context.Context, r *resolved) error {
	t := r.typed
	stream := t.releaseStream != ""
	var err error
	if !t.render || t.versionCheck || stream {
		if r.client, err = management.NewClient(t.kubeconfig); err != nil {
			return err
		}
	}
	if t.versionCheck {
		if err := management.CheckServerVersion(ctx, r.client); err != nil {
			return err
		}
	}
	if !t.render {
		if r.existing, err = c.findCluster(ctx, r.client, r.cluster, r.infra.InfraID); err != nil {
			return err
		}
		if r.existing == nil {
			if err := c.checkManagementRanges(ctx, r.client, r.infra.Ranges); err != nil {
				return err
			}
		}
		c.warnUnpublished(ctx, r.client, r.cluster)
	}
	if !stream || r.existing != nil { // a cluster that is there has its release
		return nil
	}
	minors, err := management.OperatorMinors(ctx, r.client)
	if err != nil {
		return err
	}
	if r.cluster.ReleaseImage, err = c.streams.Resolve(ctx, t.releaseStream, minors); err == nil {
		c.say("release %s of stream %s", r.cluster.ReleaseImage, t.releaseStream)
	}
	return err
}

// findCluster is the cluster of this name where it is this one, continued by its infrastructure id; another one is refused.
func (c *creation) findCluster(ctx context.Context, in client.Client, cluster manifest.Cluster, infraID string) (*hyperv1.HostedCluster, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name}
	hc := &hyperv1.HostedCluster{}
	backoff := wait.Backoff{Steps: 5, Duration: time.Second, Factor: 2, Jitter: 0.1}
	again := func(err error) bool {
		if ctx.Err() != nil || !management.IsTransient(err) {
			return false
		}
		c.say("the management cluster does not answer, asking again: %v", err)
		return true
	}
	err := retry.OnError(backoff, again, func() error { return in.Get(ctx, key, hc) })
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case meta.IsNoMatchError(err):
		return nil, management.ErrNotInstalled
	case err != nil:
		return nil, fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	case !hc.DeletionTimestamp.IsZero():
		return nil, fmt.Errorf("HostedCluster %s already exists and is being deleted; wait for that, or finish it with `hypershift destroy cluster azure`", key)
	case infraID != "" && hc.Spec.InfraID == infraID:
		return hc, nil
	}
	return nil, fmt.Errorf("HostedCluster %s already exists; choose another --name, or continue its creation with --infra-id %s", key, hc.Spec.InfraID)
}

// warnUnpublished says when nobody will write the host names beneath the external domain: without their records the cluster's nodes
// and its users do not find it.
func (c *creation) warnUnpublished(ctx context.Context, in client.Client, cluster manifest.Cluster) {
	domain := cluster.Publishing.ExternalDNSDomain
	if domain == "" {
		return
	}
	list := &appsv1.DeploymentList{}
	if err := in.List(ctx, list); err != nil {
		c.say("warning: cannot see whether ExternalDNS is installed: %v", err)
		return
	}
	const arg = "--domain-filter="
	why := "the management cluster runs no ExternalDNS (`hypershift install --external-dns-provider=azure ...`)"
	for _, d := range list.Items {
		if d.Name != contract.ExternalDNS || len(d.Spec.Template.Spec.Containers) == 0 {
			continue
		}
		for _, a := range d.Spec.Template.Spec.Containers[0].Args {
			filter, ok := strings.CutPrefix(a, arg)
			if ok && (filter == domain || strings.HasSuffix(domain, "."+filter)) {
				return
			}
			if ok {
				why = fmt.Sprintf("ExternalDNS %s/%s writes only to %s", d.Namespace, d.Name, filter)
			}
		}
	}
	c.say("warning: %s; until you publish api-%s.%s and the other endpoints yourself, the cluster does not become available", why, cluster.Name, domain)
}

// checkRelease refuses what is no payload, and warns of one that no node runs. The release of a cluster that is there was judged by the operator, and a rendering for
// infrastructure that is there makes nothing: it asks no registry.
func (c *creation) checkRelease(ctx context.Context, r resolved) (*release.Release, error) {
	t, image := r.typed, r.cluster.ReleaseImage
	if r.existing != nil || image == "" || t.render && t.infraJSON != "" {
		return nil, nil
	}
	flag := "--release-image"
	if t.releaseStream != "" {
		flag = "--release-stream " + t.releaseStream
	}
	found, err := imagecheck.Payload{Flag: flag, Image: image, Access: accessOf(r.cluster), Releases: c.releases}.Check(ctx, c.say)
	if err != nil || found == nil {
		return nil, err
	}
	return found, nil
}

// accessOf is what the payload of a cluster is read with.
func accessOf(cluster manifest.Cluster) release.Access {
	return release.Access{PullSecret: cluster.Secrets.PullSecret, TrustBundle: cluster.Secrets.TrustBundle, Mirrors: release.ContentSources(cluster.ImageContentSources)}
}

// checkSigner compares the signing key with the published ones. An issuer that cannot be reached from here may well be one for Azure.
func (c *creation) checkSigner(ctx context.Context, r resolved) error {
	t, key := r.typed, r.cluster.Secrets.SigningKey
	if t.render || len(key) == 0 {
		return nil
	}
	err := issuer.CheckSigner(ctx, r.session, r.cluster.Identity.IssuerURL, t.signingKey, key)
	var unreachable *url.Error
	if errors.As(err, &unreachable) && ctx.Err() == nil {
		c.say("warning: cannot see whether the issuer publishes the key of %s: %v", t.signingKey, err)
		return nil
	}
	return err
}
