package controlplane

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/cloudprovider"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ingressoperator"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	// signInPeriod is just below the period of a control plane at rest, signInRetry that of one whose identities are refused.
	signInPeriod  = 50 * time.Second
	signInRetry   = vaultRetryPeriod - time.Second
	signInTimeout = 8 * time.Second
	// entraCode begins every code with which Entra refuses.
	entraCode = "AADSTS"
)

// SignIn is how production takes on an identity.
func SignIn(ctx context.Context, identity azure.Federation, assertion Assertion) error {
	return identity.SignIn(ctx, nil, assertion)
}

// machineAccount is whom the identity of Cluster API's Azure provider is federated with.
var machineAccount = component.Token{Namespace: "kube-system", ServiceAccount: "capi-provider"}

// identity is a workload identity that something of the control plane takes on.
type identity struct {
	// member of spec.platform.azure.azureAuthenticationConfig.workloadIdentities, for messages.
	member   string
	clientID hyperv1.AzureClientID
	account  component.Token
}

// identities are those without which no machine comes, no load balancer and no record of the applications: who is refused then writes it
// into a log at most.
func (p *pass) identities() []identity {
	platform := p.hcp.Spec.Platform.Azure
	if platform == nil || platform.AzureAuthenticationConfig.WorkloadIdentities == nil {
		return nil
	}
	set := platform.AzureAuthenticationConfig.WorkloadIdentities
	all := []identity{{"cloudProvider", set.CloudProvider.ClientID, cloudprovider.Account}}
	if _, disabled := p.hcp.Annotations[hyperv1.DisableMachineManagementAnnotation]; !disabled {
		all = append(all, identity{"nodePoolManagement", set.NodePoolManagement.ClientID, machineAccount})
	}
	if result := p.result(ingressoperator.Name); result.Available.Type != "" && !result.Absent {
		all = append(all, identity{"ingress", set.Ingress.ClientID, ingressoperator.Account})
	}
	return all
}

// signIns remembers what Entra answered, by identity.
type signIns struct {
	mu      sync.Mutex
	at      time.Time
	answers map[identity]error
}

// refused tells whether an identity got no token when it was last tried.
func (s *signIns) refused() bool { return s.problem(nil) != "" }

// problem is what Entra says about those that it refuses; all when no identities are named.
func (s *signIns) problem(of []identity) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []string
	for one, err := range s.answers {
		if err != nil && (of == nil || slices.Contains(of, one)) {
			problems = append(problems, "identity "+one.member+" cannot sign in: "+err.Error())
		}
	}
	slices.Sort(problems)
	return strings.Join(problems, "; ")
}

// known tells whether all of them were tried at least once.
func (s *signIns) known(of []identity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(of, func(one identity) bool { _, tried := s.answers[one]; return !tried })
}

func (s *signIns) due(of []identity, now time.Time) bool {
	period := signInPeriod
	if s.refused() || !s.known(of) {
		period = signInRetry
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at) < period {
		return false
	}
	s.at = now
	return true
}

// put keeps an answer. That nobody answered is no answer: the one before stays.
func (s *signIns) put(one identity, err error) {
	if err != nil && !strings.HasPrefix(azure.CodeOf(err), entraCode) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[identity]error{}
	}
	s.answers[one] = err
}

// checkIdentities signs in as the programs do that act in Azure, with tokens as they have them.
func (p *pass) checkIdentities(ctx context.Context) {
	all := p.identities()
	if len(all) == 0 || len(p.signingKey()) == 0 || p.SignIn == nil || !p.signIns.due(all, p.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	platform, group := p.hcp.Spec.Platform.Azure, errgroup.Group{}
	for _, one := range all {
		group.Go(func() error {
			as := azure.Federation{Cloud: platform.Cloud, TenantID: platform.TenantID, ClientID: string(one.clientID)}
			p.signIns.put(one, p.SignIn(ctx, as, p.assertionOf(one.account)))
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// setIdentities repeats what Entra said. Without an answer there is nothing to say.
func (p *pass) setIdentities(set kube.ConditionSetter) {
	all := p.identities()
	switch problem := p.signIns.problem(all); {
	case len(all) == 0 || !p.signIns.known(all):
		set.Remove(hyperv1.PlatformCredentialsFound)
	case problem != "":
		set.False(hyperv1.PlatformCredentialsFound, hyperv1.InvalidAzureCredentialsReason, problem)
	default:
		set.True(hyperv1.PlatformCredentialsFound, hyperv1.AsExpectedReason, "")
	}
}
