package hostedcluster

import (
	"context"

	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// The steps of a pass, by what they bring about.
const (
	supportStep              steps.ID = "support"
	configurationStep        steps.ID = "configuration"
	referencesStep           steps.ID = "references"
	releaseStep              steps.ID = "release"
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

// buildPlan leaves what needs a failed step as it is; everything else still runs.
var buildPlan = steps.NewPlan("hostedcluster", []steps.Step[*pass]{
	{ID: supportStep, Run: (*pass).checkSupport},
	{ID: configurationStep, Needs: needs(supportStep), Run: (*pass).checkConfiguration},
	{ID: referencesStep, Needs: needs(supportStep), Run: (*pass).checkReferences},
	{ID: releaseStep, Needs: needs(supportStep), Run: (*pass).lookupRelease},
	{ID: inertStep, Needs: needs(configurationStep), After: needs(releaseStep), Run: (*pass).tellInert},
	{ID: upgradeStep, Needs: needs(releaseStep), Run: (*pass).gateUpgrade},
	{ID: admissionStep, Needs: needs(configurationStep), After: needs(upgradeStep), Run: (*pass).admitRelease},
	{ID: helperImageStep, Needs: needs(releaseStep), Run: (*pass).keepHelperImage},
	{ID: imageLabelsStep, Needs: needs(configurationStep, helperImageStep), Run: (*pass).readImageLabels},
	{ID: namespaceStep, Needs: needs(admissionStep), After: needs(imageLabelsStep), Run: (*pass).ensureNamespace},
	{ID: isolationStep, Needs: needs(namespaceStep), Run: (*pass).ensureIsolation},
	{ID: credentialsStep, Needs: needs(namespaceStep), Run: (*pass).ensureCredentials},
	{ID: requiredCopiesStep, Needs: needs(namespaceStep), Run: (*pass).copyRequired},
	{ID: optionalCopiesStep, Needs: needs(namespaceStep), Run: (*pass).copyOptional},
	{ID: installationCopiesStep, Needs: needs(namespaceStep), Run: (*pass).copyInstallation},
	{ID: controlPlaneStep, Needs: needs(credentialsStep, requiredCopiesStep), Run: (*pass).ensureControlPlane},
	{ID: formerCopiesStep, Needs: needs(configurationStep, referencesStep, controlPlaneStep), Run: (*pass).removeFormerCopies},
	{ID: machinesStep, Needs: needs(controlPlaneStep), Run: (*pass).ensureClusterAPI},
	{ID: keyVaultStep, Needs: needs(releaseStep), Run: (*pass).checkVault},
	{ID: controlPlaneOperatorStep, Needs: needs(controlPlaneStep, imageLabelsStep), Run: (*pass).ensureControlPlaneOperator},
	{ID: machineOperatorsStep, Needs: needs(machinesStep, imageLabelsStep), Run: (*pass).ensureClusterAPIOperators},
	{ID: dashboardStep, Needs: needs(namespaceStep), Run: (*pass).ensureDashboard},
	{ID: accessStep, Needs: needs(namespaceStep), Run: (*pass).exportAccess},
	{ID: ownershipStep, Run: (*pass).adoptSecrets},
}...)

func needs(ids ...steps.ID) []steps.ID { return ids }

// runSteps builds what the HostedCluster asks for, and keeps what holds it back for the conditions.
func (p *pass) runSteps(ctx context.Context) steps.Report {
	report := buildPlan.Run(ctx, p.hc.Namespace+"/"+p.hc.Name, p)
	p.requeue(report.Again())
	return report
}

// admitRelease lets the pass go on when the release may run. One that the control plane runs already, and that just now cannot be read
// or was found wrong, does not keep the rest from being kept up: a new pull secret may be what makes it readable again.
func (p *pass) admitRelease(ctx context.Context) error {
	if steps.Succeeded(ctx, upgradeStep) {
		return nil
	}
	if p.hcp != nil && p.hcp.Spec.ReleaseImage == p.hc.Spec.Release.Image && p.hcpImage() == p.controlPlaneImage() {
		return nil
	}
	return &steps.Stopped{Because: "no release can be used"}
}

// hcpImage is the payload that the control plane runs, or is moving to.
func (p *pass) hcpImage() string {
	if image := p.hcp.Spec.ControlPlaneReleaseImage; image != nil && *image != "" {
		return *image
	}
	return p.hcp.Spec.ReleaseImage
}
