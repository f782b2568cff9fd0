package hostedcluster

import (
	"context"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/checks"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/dashboards"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/inputs"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/isolation"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/machines"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/operators"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/projection"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/releases"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/status"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/workloads"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// The steps of a pass, by what they bring about.
const (
	releaseStep              steps.ID = "release"
	supportStep              steps.ID = "support"
	configurationStep        steps.ID = "configuration"
	referencesStep           steps.ID = "references"
	inertStep                steps.ID = "what is inert"
	upgradeStep              steps.ID = "upgrade"
	admissionStep            steps.ID = "admission"
	helperImageStep          steps.ID = "helper image"
	imageLabelsStep          steps.ID = "image labels"
	namespaceStep            steps.ID = "namespace"
	isolationStep            steps.ID = "isolation"
	credentialsStep          steps.ID = "credentials"
	requiredCopiesStep       steps.ID = "required copies"
	optionalCopiesStep       steps.ID = "copies"
	installationCopiesStep   steps.ID = "installation's copies"
	controlPlaneStep         steps.ID = "control plane"
	formerCopiesStep         steps.ID = "former copies"
	machinesStep             steps.ID = "machines"
	keyVaultStep             steps.ID = "key vault"
	controlPlaneOperatorStep steps.ID = "control-plane-operator"
	machineOperatorsStep     steps.ID = "machine operators"
	dashboardStep            steps.ID = "dashboard"
	accessStep               steps.ID = "access"
	ownershipStep            steps.ID = "ownership"
)

// learned is what steps learn for later ones. Each member is set by the step that its comment names.
type learned struct {
	// inputs are the user's objects that the HostedCluster names (configuration).
	inputs inputs.Inputs
	// found is the release, and how its images are read (release).
	found releases.Found
	// blockedUpgrade says why the desired release is not rolled out; empty when it is (upgrade).
	blockedUpgrade string
	// helperImage is the image of the control-plane operator and of the helpers in pods (helper image).
	helperImage string
	// labels are those of helperImage; nil where nothing asks for them (image labels).
	labels map[string]string
	// user is the user id of pods; nil where the management cluster chooses it (namespace).
	user *int64
}

// buildPlan leaves what needs a failed step as it is; everything else still runs.
var buildPlan = steps.NewPlan("hostedcluster", []steps.Step[*pass]{
	{ID: releaseStep, Run: func(p *pass, ctx context.Context) (err error) {
		p.found, err = p.r.Releases.Lookup(ctx, p.Cluster)
		return err
	}},
	{ID: supportStep, After: needs(releaseStep), Run: func(p *pass, _ context.Context) error {
		return checks.Support(p.Cluster, p.hcp, p.r.Capabilities, p.found.Release)
	}},
	{ID: configurationStep, Needs: needs(supportStep), Run: func(p *pass, ctx context.Context) (err error) {
		p.inputs, err = inputs.Check(ctx, p.Cluster)
		return err
	}},
	{ID: referencesStep, Needs: needs(supportStep), After: needs(configurationStep), Run: func(p *pass, ctx context.Context) error {
		return inputs.CheckReferences(ctx, p.Cluster, p.inputs)
	}},
	{ID: inertStep, Needs: needs(configurationStep), After: needs(releaseStep), Run: func(p *pass, _ context.Context) error {
		checks.Inert(p.Cluster, p.found.Release)
		return nil
	}},
	{ID: upgradeStep, Needs: needs(supportStep, releaseStep), Run: func(p *pass, ctx context.Context) (err error) {
		if p.blockedUpgrade, err = releases.GateUpgrade(p.Hosted, p.found.Release); err != nil {
			return err
		}
		p.blockedUpgrade, err = p.r.turns.Take(ctx, p.Cluster, p.hcp, p.r.MaxConcurrentUpgrades)
		return err
	}},
	{ID: admissionStep, Needs: needs(configurationStep), After: needs(upgradeStep), Run: func(p *pass, ctx context.Context) error {
		return releases.Admit(p.Hosted, p.hcp, steps.Succeeded(ctx, upgradeStep))
	}},
	{ID: helperImageStep, Needs: needs(supportStep, releaseStep), Run: func(p *pass, ctx context.Context) (err error) {
		p.helperImage, err = p.chooseHelperImage(ctx)
		return err
	}},
	{ID: imageLabelsStep, Needs: needs(configurationStep, helperImageStep), Run: func(p *pass, ctx context.Context) (err error) {
		p.labels, err = p.r.Releases.ReadLabels(ctx, p.Hosted, p.found, p.helperImage)
		return err
	}},
	{ID: namespaceStep, Needs: needs(admissionStep), After: needs(imageLabelsStep), Run: func(p *pass, ctx context.Context) (err error) {
		p.user, err = p.r.namespaces.Ensure(ctx, p.Cluster, isolation.NamespaceSettings{
			AssignUsers: !p.r.Capabilities.SecurityContextConstraints, Monitoring: p.r.ClusterMonitoring, Proxy: p.r.Proxy,
			Labels: p.labels, LabelsKnown: steps.Succeeded(ctx, imageLabelsStep),
		})
		return err
	}},
	{ID: isolationStep, Needs: needs(namespaceStep), Run: func(p *pass, ctx context.Context) error {
		return isolation.EnsurePolicies(ctx, p.Cluster, p.r.surroundings())
	}},
	{ID: credentialsStep, Needs: needs(namespaceStep), Run: func(p *pass, ctx context.Context) error {
		return inputs.EnsureCredentials(ctx, p.Cluster)
	}},
	{ID: requiredCopiesStep, Needs: needs(namespaceStep), Run: func(p *pass, ctx context.Context) error {
		return inputs.CopyRequired(ctx, p.Cluster, p.inputs)
	}},
	{ID: optionalCopiesStep, Needs: needs(namespaceStep), Run: func(p *pass, ctx context.Context) error {
		return inputs.CopyOptional(ctx, p.Cluster, p.inputs)
	}},
	{ID: installationCopiesStep, Needs: needs(namespaceStep), Run: func(p *pass, ctx context.Context) error {
		return inputs.CopyInstallation(ctx, p.Cluster, p.r.OperatorNamespace)
	}},
	{ID: controlPlaneStep, Needs: needs(credentialsStep, requiredCopiesStep), Run: func(p *pass, ctx context.Context) (err error) {
		p.hcp, err = projection.Ensure(ctx, p.Cluster, p.hcp)
		return err
	}},
	{ID: formerCopiesStep, Needs: needs(configurationStep, referencesStep, controlPlaneStep), Run: func(p *pass, ctx context.Context) error {
		return inputs.RemoveFormer(ctx, p.Cluster, p.inputs)
	}},
	{ID: machinesStep, Needs: needs(controlPlaneStep), Run: func(p *pass, ctx context.Context) error {
		return machines.EnsureCluster(ctx, p.Cluster, p.hcp.Status.ControlPlaneEndpoint)
	}},
	{ID: keyVaultStep, Needs: needs(supportStep, releaseStep), Run: func(p *pass, _ context.Context) error {
		return checks.Vault(p.Cluster, p.found.Release)
	}},
	{ID: controlPlaneOperatorStep, Needs: needs(controlPlaneStep, imageLabelsStep), Run: func(p *pass, ctx context.Context) error {
		return operators.Ensure(ctx, p.Cluster, p.r.Operators, p.found.Mirrors, p.workloadSettings())
	}},
	{ID: machineOperatorsStep, Needs: needs(machinesStep, imageLabelsStep), Run: func(p *pass, ctx context.Context) error {
		return machines.EnsureManagers(ctx, p.Cluster, machines.Payload{
			Kind: p.found.Release.Kind(), Version: p.found.Release.Version, TLS: clusterconfig.TLSOf(p.Hosted.Spec.Configuration),
			Core:     p.r.Releases.ComponentImage(p.Hosted, p.found.Release, release.KeyClusterAPI),
			Provider: p.r.Releases.ComponentImage(p.Hosted, p.found.Release, release.KeyAzureProvider),
		}, p.workloadSettings())
	}},
	{ID: dashboardStep, Needs: needs(namespaceStep), Run: func(p *pass, ctx context.Context) error {
		return dashboards.Ensure(ctx, p.Cluster, p.r.Dashboards)
	}},
	{ID: accessStep, Needs: needs(namespaceStep), After: needs(controlPlaneStep), Run: func(p *pass, ctx context.Context) error {
		return status.ExportAccess(ctx, p.Cluster, p.hcp)
	}},
	{ID: ownershipStep, Run: func(p *pass, ctx context.Context) error {
		return inputs.AdoptSecrets(ctx, p.Cluster)
	}},
}...)

func needs(ids ...steps.ID) []steps.ID { return ids }

// runSteps builds what the HostedCluster asks for, and keeps what holds it back for the conditions.
func (p *pass) runSteps(ctx context.Context) steps.Report {
	report := buildPlan.Run(ctx, p.Reference(), p)
	p.requeue(report.Again())
	return report
}

// chooseHelperImage holds on to the image that runs where this operator's own would take the place.
func (p *pass) chooseHelperImage(ctx context.Context) (string, error) {
	image, standsIn := p.r.Releases.HelperImage(p.Hosted, p.found.Release)
	if !standsIn {
		return image, nil
	}
	running, err := operators.RunningImage(ctx, p.Cluster)
	if running != "" {
		image = running
	}
	return image, err
}

func (p *pass) workloadSettings() workloads.Settings {
	plane := projection.Desired(p.Hosted)
	plane.UID = p.hcp.UID
	settings := workloads.Settings{Plane: plane, HelperImage: p.helperImage, User: p.user, Proxy: p.r.Proxy}
	if p.found.Release != nil {
		settings.Payload = p.found.Release.Kind()
	}
	return settings
}

func (r *Reconciler) surroundings() isolation.Surroundings {
	return isolation.Surroundings{
		Networks: &r.networks, Blocked: r.EgressBlockCIDRs, OpenShiftDNS: r.Capabilities.OpenShiftDNS, Proxy: r.Proxy,
	}
}
