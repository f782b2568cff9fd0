package credentials

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/cloudprovider"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/ingressoperator"
	"github.com/hypershift-on-azure/hypershift/internal/kube"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// signInPeriod is that of a control plane at rest, short enough for a refusal to be told within a minute; signInRetry that of one whose
	// identities are refused.
	signInPeriod  = 40 * time.Second
	signInRetry   = RetryPeriod - time.Second
	signInTimeout = 8 * time.Second
	// entraCode begins every code with which Entra refuses.
	entraCode = "AADSTS"
)

// SignIn is how production takes on an identity.
func SignIn(ctx context.Context, identity azure.Federation, assertion Assertion) error {
	return identity.SignIn(ctx, nil, assertion)
}

// machineAccount is whom the identity of Cluster API's Azure provider is federated with.
var machineAccount = component.Token{Namespace: metav1.NamespaceSystem, ServiceAccount: contract.ClusterAPIProvider}

// identity is a workload identity that something of the control plane takes on.
type identity struct {
	// member of spec.platform.azure.azureAuthenticationConfig.workloadIdentities, for messages.
	member   string
	clientID hyperv1.AzureClientID
	account  component.Token
}

// identitiesOf are those without which no machine comes, no load balancer and no record of the applications: who is refused then writes it
// into a log at most.
func identitiesOf(hcp *hyperv1.HostedControlPlane, results component.Results) []identity {
	platform := hcp.Spec.Platform.Azure
	if platform == nil || platform.AzureAuthenticationConfig.WorkloadIdentities == nil {
		return nil
	}
	set := platform.AzureAuthenticationConfig.WorkloadIdentities
	all := []identity{{"cloudProvider", set.CloudProvider.ClientID, cloudprovider.Account}}
	if _, disabled := hcp.Annotations[hyperv1.DisableMachineManagementAnnotation]; !disabled {
		all = append(all, identity{"nodePoolManagement", set.NodePoolManagement.ClientID, machineAccount})
	}
	if result := results.Of(ingressoperator.Name); result.Available.Type != "" && !result.Absent {
		all = append(all, identity{"ingress", set.Ingress.ClientID, ingressoperator.Account})
	}
	return all
}

// SignIns tries identities, and remembers what Entra answered, by identity. The zero value is ready.
type SignIns struct {
	mu      sync.Mutex
	at      time.Time
	answers map[identity]error
}

// Refused tells whether an identity got no token when it was last tried.
func (s *SignIns) Refused() bool { return s.problem(nil) != "" }

// problem is what Entra says about those that it refuses; all when no identities are named.
func (s *SignIns) problem(of []identity) string {
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
func (s *SignIns) known(of []identity) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(of, func(one identity) bool { _, tried := s.answers[one]; return !tried })
}

func (s *SignIns) due(of []identity, now time.Time) bool {
	period := signInPeriod
	if s.Refused() || !s.known(of) {
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

// Left is how long it is until identities that were tried are due again; whole where none was tried when it was due.
func (s *SignIns) Left(now time.Time, whole time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.at.Add(signInPeriod).Sub(now); left > 0 {
		return left
	}
	return whole
}

// put keeps an answer. That nobody answered is no answer: the one before stays.
func (s *SignIns) put(one identity, err error) {
	if err != nil && !strings.HasPrefix(failure.CodeOf(err), entraCode) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[identity]error{}
	}
	s.answers[one] = err
}

// Check signs in as the programs do that act in Azure, with tokens as they have them. signIn nil tries none.
func (s *SignIns) Check(ctx context.Context, hcp *hyperv1.HostedControlPlane, results component.Results, signer Signer,
	signIn func(context.Context, azure.Federation, Assertion) error) {
	all := identitiesOf(hcp, results)
	if len(all) == 0 || len(signer.Key) == 0 || signIn == nil || !s.due(all, signer.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	platform, group := hcp.Spec.Platform.Azure, errgroup.Group{}
	for _, one := range all {
		group.Go(func() error {
			as := azure.Federation{Cloud: platform.Cloud, TenantID: platform.TenantID, ClientID: string(one.clientID)}
			s.put(one, signIn(ctx, as, signer.assertion(one.account)))
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// Tell repeats in a condition what Entra said. Without an answer there is nothing to say.
func (s *SignIns) Tell(hcp *hyperv1.HostedControlPlane, results component.Results, set kube.ConditionSetter) {
	all := identitiesOf(hcp, results)
	switch problem := s.problem(all); {
	case len(all) == 0 || !s.known(all):
		set.Remove(hyperv1.PlatformCredentialsFound)
	case problem != "":
		set.False(hyperv1.PlatformCredentialsFound, hyperv1.InvalidAzureCredentialsReason, problem)
	default:
		set.True(hyperv1.PlatformCredentialsFound, hyperv1.AsExpectedReason, "")
	}
}
