package nodepool

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/machinetags"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

const (
	ignitionCASecret    = contract.IgnitionCA
	messageValidVersion = "Release image version is valid"
	// resolveTimeout keeps a silent name server from holding up a worker.
	resolveTimeout = 5 * time.Second
)

// set writes a condition; its time moves only when the status is another one than before the pass, whatever steps said of it meanwhile.
func (p *pass) set(conditionType string, status corev1.ConditionStatus, reason, message string) {
	updated := hyperv1.NodePoolCondition{
		Type: conditionType, Status: status, Reason: reason, Message: kube.Shorten(message, kube.MessageLimit),
		LastTransitionTime: metav1.Now().Rfc3339Copy(), ObservedGeneration: p.np.Generation,
	}
	for _, former := range p.began {
		if former.Type == conditionType && former.Status == status {
			updated.LastTransitionTime = former.LastTransitionTime
		}
	}
	p.told = updated
	for i, known := range p.np.Status.Conditions {
		if known.Type != conditionType {
			continue
		}
		p.np.Status.Conditions[i] = updated
		return
	}
	p.np.Status.Conditions = append(p.np.Status.Conditions, updated)
}

func (p *pass) remove(conditionType string) {
	kept := p.np.Status.Conditions[:0:0]
	for _, known := range p.np.Status.Conditions {
		if known.Type != conditionType {
			kept = append(kept, known)
		}
	}
	p.np.Status.Conditions = kept
}

// condition is empty while it is not set.
func (p *pass) condition(conditionType string) hyperv1.NodePoolCondition {
	for _, known := range p.np.Status.Conditions {
		if known.Type == conditionType {
			return known
		}
	}
	return hyperv1.NodePoolCondition{}
}

func (p *pass) status(conditionType string) corev1.ConditionStatus {
	return p.condition(conditionType).Status
}

func (r *Reconciler) updateManagement(_ context.Context, p *pass) error {
	if err := validateManagement(p.np.Spec.Management); err != nil {
		p.set(hyperv1.NodePoolUpdateManagementEnabled, corev1.ConditionFalse, hyperv1.ValidationFailedReason, err.Error())
		return p.stop()
	}
	p.set(hyperv1.NodePoolUpdateManagementEnabled, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	return nil
}

func validateManagement(management hyperv1.NodePoolManagement) error {
	switch management.UpgradeType {
	case hyperv1.UpgradeTypeInPlace:
		return nil
	case hyperv1.UpgradeTypeReplace:
	default:
		return fmt.Errorf("upgradeType %q is unknown; use Replace or InPlace", management.UpgradeType)
	}
	replace := management.Replace
	switch {
	case replace == nil:
		return fmt.Errorf("management.replace is missing; upgradeType Replace needs it")
	case replace.Strategy == hyperv1.UpgradeStrategyOnDelete:
		return nil
	case replace.Strategy != hyperv1.UpgradeStrategyRollingUpdate:
		return fmt.Errorf("management.replace.strategy %q is unknown; use RollingUpdate or OnDelete", replace.Strategy)
	case replace.RollingUpdate == nil:
		return fmt.Errorf("management.replace.rollingUpdate is missing; strategy RollingUpdate needs it")
	}
	return nil
}

func (r *Reconciler) ignitionEndpoint(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolIgnitionEndpointAvailable
	if p.hc.Status.IgnitionEndpoint == "" {
		p.set(condition, corev1.ConditionFalse, hyperv1.IgnitionEndpointMissingReason, "the HostedCluster has not published its ignition endpoint yet")
		return p.stop()
	}
	if host := explicitIgnitionHost(p.hc); host != "" {
		if err := r.resolve(ctx, host); err != nil {
			p.set(condition, corev1.ConditionFalse, hyperv1.ExternalDNSHostNotReachable, fmt.Sprintf("ignition host name %s does not resolve: %v", host, err))
			p.requeue = pendingDNSPeriod
			return p.stop()
		}
	}
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: ignitionCASecret}, secret)
	switch {
	case apierrors.IsNotFound(err):
		p.set(condition, corev1.ConditionFalse, hyperv1.IgnitionCACertMissingReason, "secret "+ignitionCASecret+" does not exist yet")
		return p.stop()
	case err != nil:
		return fmt.Errorf("read secret %s: %w", ignitionCASecret, err)
	}
	p.ignitionCA = secret.Data[corev1.TLSCertKey]
	if len(p.ignitionCA) == 0 {
		p.ignitionCA = secret.Data[contract.CAKey]
	}
	if len(p.ignitionCA) == 0 {
		p.set(condition, corev1.ConditionFalse, hyperv1.IgnitionCACertMissingReason, "secret "+ignitionCASecret+" has no key "+corev1.TLSCertKey)
		return p.stop()
	}
	p.remove(condition)
	return nil
}

// explicitIgnitionHost is a host name that somebody else has to publish in DNS.
func explicitIgnitionHost(hc *hyperv1.HostedCluster) string {
	if hc.Spec.Platform.Azure == nil || hc.Spec.Platform.Azure.Topology == hyperv1.AzureTopologyPrivate {
		return ""
	}
	for _, service := range hc.Spec.Services {
		if service.Service == hyperv1.Ignition && service.ServicePublishingStrategy.Route != nil {
			return string(service.ServicePublishingStrategy.Route.Hostname)
		}
	}
	return ""
}

func resolveHost(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err
}

func (r *Reconciler) archPlatform(_ context.Context, p *pass) error {
	const condition = hyperv1.NodePoolValidArchPlatform
	arch, platform := p.arch(), p.np.Spec.Platform.Type
	if platform != hyperv1.AzurePlatform && platform != hyperv1.NonePlatform {
		p.set(condition, corev1.ConditionFalse, hyperv1.InvalidArchPlatformReason, fmt.Sprintf("platform %s is not supported", platform))
		return nil
	}
	if problems := refusals(p, "spec.arch"); problems != "" {
		p.set(condition, corev1.ConditionFalse, hyperv1.InvalidArchPlatformReason, problems)
		return p.stop()
	}
	if !archFits(p.release.Architecture, arch) {
		message := fmt.Sprintf("the release payload is for %s, the node pool wants %s; use a multi-arch payload or one of that architecture", p.release.Architecture, arch)
		p.set(condition, corev1.ConditionFalse, hyperv1.InvalidArchPlatformReason, message)
		return fmt.Errorf("%s", message)
	}
	p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	return nil
}

// reconciliationActive tells of a pause; it acts only after the conditions, in pausedDeployment.
func (r *Reconciler) reconciliationActive(_ context.Context, p *pass) error {
	const condition = hyperv1.ReconciliationActive
	paused, until, err := pause.Read(p.np.Spec.PausedUntil, r.now())
	switch {
	case err != nil:
		p.set(condition, corev1.ConditionTrue, hyperv1.InvalidPausedUntilReason,
			fmt.Sprintf("spec.pausedUntil %q is %v; it is treated as not paused", *p.np.Spec.PausedUntil, err))
	case paused:
		p.set(condition, corev1.ConditionFalse, hyperv1.ReconciliationPausedReason, "Reconciliation paused by spec.pausedUntil: "+*p.np.Spec.PausedUntil)
		p.requeue = until
	default:
		p.set(condition, corev1.ConditionTrue, hyperv1.ReconciliationActiveReason, "Reconciliation active on resource")
	}
	return nil
}

func (r *Reconciler) generatedPayload(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolValidGeneratedPayload
	token, reason, err := r.readToken(ctx, p)
	if err != nil {
		p.set(condition, corev1.ConditionFalse, reason, err.Error())
		return nil
	}
	reported := string(token.Data[ignition.TokenReasonKey])
	status := corev1.ConditionFalse
	switch reported {
	case "":
		status = corev1.ConditionUnknown
	case hyperv1.AsExpectedReason:
		status = corev1.ConditionTrue
	}
	p.set(condition, status, reported, string(token.Data[ignition.TokenMessageKey]))
	return nil
}

func (r *Reconciler) reachedIgnition(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolReachedIgnitionEndpoint
	if observed.UpdatedInPlace(p.np) && p.status(condition) == corev1.ConditionTrue {
		return nil // no machine of the pool has to come for a configuration again
	}
	token, reason, err := r.readToken(ctx, p)
	switch {
	case err != nil:
		p.set(condition, corev1.ConditionFalse, reason, err.Error())
	case token.Annotations[hyperv1.IgnitionReachedAnnotation] == "True":
		p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	default:
		p.set(condition, corev1.ConditionFalse, hyperv1.IgnitionNotReachedReason, "no machine has asked for its configuration yet")
	}
	return nil
}

// readToken reads the token secret of the target configuration; reason is for the condition when that fails.
func (r *Reconciler) readToken(ctx context.Context, p *pass) (token *corev1.Secret, reason string, err error) {
	token = &corev1.Secret{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: names.Token(p.np, p.config.version)}, token)
	switch {
	case apierrors.IsNotFound(err):
		return nil, hyperv1.NotFoundReason, fmt.Errorf("token secret %s does not exist yet", names.Token(p.np, p.config.version))
	case err != nil:
		return nil, hyperv1.FailedToGetReason, fmt.Errorf("read token secret: %w", err)
	}
	return token, "", nil
}

func (r *Reconciler) platformConfig(_ context.Context, p *pass) error {
	if p.np.Spec.Platform.Type == hyperv1.AzurePlatform && p.np.Spec.Platform.Azure == nil {
		p.set(hyperv1.NodePoolValidPlatformConfig, corev1.ConditionFalse, hyperv1.ValidationFailedReason, "spec.platform.azure is missing; platform type Azure needs it")
		return p.stop()
	}
	// The name begins those of machines, and a node is called like its machine's host: what is no host name never joins.
	if problems := validation.IsDNS1123Label(p.np.Name); len(problems) > 0 {
		p.set(hyperv1.NodePoolValidPlatformConfig, corev1.ConditionFalse, hyperv1.ValidationFailedReason, fmt.Sprintf(
			"nodes cannot be named after node pool %q: %s; create a node pool of another name, at most %d characters long and without dots",
			p.np.Name, strings.Join(problems, ", "), validation.DNS1123LabelMaxLength))
		return p.stop()
	}
	if _, err := machinetags.Of(p.np, p.hc); err != nil {
		p.set(hyperv1.NodePoolValidPlatformConfig, corev1.ConditionFalse, hyperv1.ValidationFailedReason, err.Error())
		return p.stop()
	}
	p.set(hyperv1.NodePoolValidPlatformConfig, corev1.ConditionTrue, hyperv1.AsExpectedReason, "The node pool's platform configuration is valid"+inert(p))
	return nil
}

// pausedDeployment stops Cluster API from moving machines while the pool is paused, and lets it go on afterwards.
func (r *Reconciler) pausedDeployment(ctx context.Context, p *pass) error {
	paused, _, err := pause.Read(p.np.Spec.PausedUntil, r.now())
	paused = paused && err == nil
	if p.maker != nil && paused != (p.maker.Annotations[contract.PausedAnnotation] == "true") {
		if err := r.setPaused(ctx, clusterapi.New(observed.MakerKind(p.np), p.namespace, p.np.Name), paused); err != nil {
			return err
		}
	}
	if paused {
		return &steps.Stopped{Because: "spec.pausedUntil holds the machines as they are"}
	}
	return nil
}
