package controlplane

import (
	"context"
	"slices"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/apiserver"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/etcd"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/featuregates"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/keys"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/monitors"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
)

// The steps around the components, which are steps of their own names.
const (
	readRelease      steps.ID = "read release"
	publishEndpoints steps.ID = "publish endpoints"
	readCertificates steps.ID = "read certificates"
	certifyEtcd      steps.ID = "certificates of etcd"
	makeTokenKey     steps.ID = "service account key"
	certifyAPIServer steps.ID = "certificates of the API server"
	encryptSecrets   steps.ID = "encryption of Secrets"
	beginEtcd        steps.ID = "etcd begins"
	certifyAll       steps.ID = "certificates"
	configureNodes   steps.ID = "ignition configuration"
	grantAccess      steps.ID = "access to the guest"
	keepMonitors     steps.ID = "monitors"
	observeRest      steps.ID = "components that were left out"
	checkKeyVault    steps.ID = "key vault"
	checkIdentities  steps.ID = "identities"
	probeEndpoint    steps.ID = "published API server"
	readBackups      steps.ID = "backups"
	recoverEtcd      steps.ID = "recovery of etcd"
	restoreEtcd      steps.ID = "restore of etcd"
	forgetLeaders    steps.ID = "leaders of before"
)

// plan has etcd start, then the API server, before it makes what only the others need: their start is the longest wait of a control
// plane, and keys can be made meanwhile. The API server does not wait for its address: its certificate has it once it is known, and is
// read again. The others come once etcd runs. The release is read from a registry while the first keys are made. Whatever changes the
// HostedControlPlane or the certificates in memory runs alone; components run beside each other.
var plan = steps.NewPlan("hostedcontrolplane", slices.Concat(
	[]steps.Step[*pass]{
		{ID: readRelease, Run: (*pass).readRelease},
		{ID: publishEndpoints, Run: (*pass).publish},
		// It decides who must not run, so nothing that runs is made without it.
		{ID: restoreEtcd, Run: func(p *pass, ctx context.Context) error { return p.restoration.Run(ctx) }},
		{ID: readCertificates, Needs: []steps.ID{publishEndpoints, restoreEtcd}, Run: func(p *pass, ctx context.Context) error { return p.keys.Read(ctx) }},
		{ID: certifyEtcd, Needs: []steps.ID{readCertificates}, Run: certify(keys.ForEtcd)},
		componentStep(etcd.Name, []steps.ID{readRelease, certifyEtcd}, nil),
		// The API server starts with the gates that it renders.
		componentStep(featuregates.Name, []steps.ID{readRelease, certifyEtcd}, []steps.ID{etcd.Name}),
		{ID: makeTokenKey, Needs: []steps.ID{certifyEtcd}, After: []steps.ID{readRelease, etcd.Name, featuregates.Name}, Run: func(p *pass, ctx context.Context) error { return p.keys.MakeServiceAccountKey(ctx) }},
		{ID: certifyAPIServer, Needs: []steps.ID{makeTokenKey}, Run: (*pass).certifyAPIServer},
		{ID: encryptSecrets, Needs: []steps.ID{certifyAPIServer}, Run: (*pass).encrypt},
		componentStep(apiserver.Name, []steps.ID{readRelease, encryptSecrets}, nil),
		{ID: beginEtcd, Needs: []steps.ID{encryptSecrets}, After: []steps.ID{apiserver.Name}, Run: (*pass).beginEtcd},
		{ID: certifyAll, Needs: []steps.ID{encryptSecrets}, After: []steps.ID{beginEtcd}, Run: certify(keys.ForAll)},
		{ID: configureNodes, Needs: []steps.ID{certifyAll}, Run: func(p *pass, ctx context.Context) error { return configureMachines(ctx, p.write, p.keys.Payload) }},
	},
	otherComponents(),
	[]steps.Step[*pass]{
		{ID: grantAccess, Needs: []steps.ID{certifyAll}, After: componentIDs(), Run: (*pass).grantAccess},
		{ID: forgetLeaders, Needs: []steps.ID{certifyAll}, After: []steps.ID{grantAccess}, Run: (*pass).forgetLeaders},
		{ID: keepMonitors, Needs: []steps.ID{certifyAll}, After: []steps.ID{forgetLeaders}, Run: keepMonitorsOf},
		{ID: observeRest, After: append(componentIDs(), keepMonitors), Run: (*pass).observeRest},
		{ID: checkKeyVault, After: []steps.ID{observeRest}, Run: always(func(p *pass, ctx context.Context) { p.vaults.Check(ctx, p.hcp, p.signer(), p.OpenVault) })},
		{ID: checkIdentities, After: []steps.ID{checkKeyVault}, Run: always(func(p *pass, ctx context.Context) { p.signIns.Check(ctx, p.hcp, p.results, p.signer(), p.SignIn) })},
		{ID: readBackups, After: []steps.ID{observeRest}, Run: (*pass).readBackups},
		{ID: recoverEtcd, After: []steps.ID{readBackups}, Run: func(p *pass, ctx context.Context) error { return p.recovery.Run(ctx) }},
		{ID: probeEndpoint, After: []steps.ID{observeRest}, Run: always((*pass).probe)},
	},
)...).Concurrent()

// otherComponents need every certificate, and an etcd that runs; they wait for each other's versions as they declare it (component.Component.DependsOn).
func otherComponents() []steps.Step[*pass] {
	var all []steps.Step[*pass]
	for _, id := range componentIDs() {
		if id != etcd.Name && id != apiserver.Name && id != featuregates.Name {
			all = append(all, componentStep(id, []steps.ID{readRelease, beginEtcd, certifyAll}, []steps.ID{configureNodes}))
		}
	}
	return all
}

func componentIDs() []steps.ID {
	var ids []steps.ID
	for _, c := range components(publish.Endpoints{}) {
		// What exists in two kinds of payload is one step.
		if !slices.Contains(ids, steps.ID(c.Name)) {
			ids = append(ids, steps.ID(c.Name))
		}
	}
	return ids
}

func componentStep(id steps.ID, needs, after []steps.ID) steps.Step[*pass] {
	return steps.Step[*pass]{ID: id, Needs: needs, After: after, Run: func(p *pass, ctx context.Context) error {
		return p.take(ctx, string(id), component.Reconcile)
	}}
}

func certify(wanted keys.Scope) func(*pass, context.Context) error {
	return func(p *pass, ctx context.Context) error { return p.keys.Certify(ctx, wanted, p.endpoints) }
}

// always is a step whose outcome is a condition of its own.
func always(look func(*pass, context.Context)) func(*pass, context.Context) error {
	return func(p *pass, ctx context.Context) error {
		look(p, ctx)
		return nil
	}
}

func keepMonitorsOf(p *pass, ctx context.Context) error {
	return monitors.Monitors{Writer: p.write, Set: p.MetricsSet, Results: p.results}.Keep(ctx)
}
