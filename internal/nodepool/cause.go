package nodepool

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// Azure's provider looks sizes of virtual machines up before it does anything for a machine. What fails there, a sign-in above all, is in its
// log and nowhere else: neither a condition nor an event tells it. So where a machine stays without a word, Azure is asked for its reasons
// as the provider would ask: with the same identity, for the same virtual machine. Nothing is asked while all machines are accounted for.

const (
	// patience is how long the provider has to say something about a machine.
	patience = 15 * time.Second
	// askPeriod is how soon Azure is asked again.
	askPeriod    = 30 * time.Second
	askTimeout   = 8 * time.Second
	askTokenLife = 10 * time.Minute

	typeVirtualMachine = "Microsoft.Compute/virtualMachines"
	apiVirtualMachine  = "2024-03-01"
	// codeNoSuchResource is Azure's answer about a virtual machine that is not there while its resource group is.
	codeNoSuchResource = "ResourceNotFound"
)

// question is what Azure is asked: whether the identity that makes machines may look at one.
type question struct {
	platform   *hyperv1.AzurePlatformSpec
	clientID   string
	issuer     string
	signingKey []byte
	machine    string
}

// answers are what Azure said last, by pool.
type answers struct {
	mu   sync.Mutex
	last map[types.NamespacedName]answer
}

type answer struct {
	at  time.Time
	err error
}

func (a *answers) get(pool types.NamespacedName) answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[pool]
}

func (a *answers) put(pool types.NamespacedName, said answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[types.NamespacedName]answer{}
	}
	a.last[pool] = said
}

func (a *answers) forget(pool types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, pool)
}

// silent tells whether nobody says why a machine has no infrastructure.
func silent(m capiv1.Machine) bool {
	if m.DeletionTimestamp != nil || failureOf(m).message != "" || m.Spec.InfrastructureRef.Name == "" ||
		meta.IsStatusConditionTrue(m.Status.Conditions, machineReady) {
		return false
	}
	infrastructure := meta.FindStatusCondition(m.Status.Conditions, machineInfrastructure)
	return infrastructure == nil || (infrastructure.Status != metav1.ConditionTrue && infrastructure.Reason == noWordReason)
}

// silentCause is why machines stay without a word, as Azure says it; nil where it refuses nothing, or nobody has to be asked.
func (r *Reconciler) silentCause(ctx context.Context, p *pass) (*problem, error) {
	pool := client.ObjectKeyFromObject(p.np)
	var first *capiv1.Machine
	for i := range p.machines {
		if silent(p.machines[i]) && (first == nil || p.machines[i].CreationTimestamp.Before(&first.CreationTimestamp)) {
			first = &p.machines[i]
		}
	}
	if first == nil {
		r.answers.forget(pool)
		return nil, nil
	}
	if age := r.now().Sub(first.CreationTimestamp.Time); age < patience {
		p.again(patience - age)
		return nil, nil
	}
	asked, err := r.questionAbout(ctx, p, first.Spec.InfrastructureRef.Name)
	if err != nil || asked == nil {
		return nil, err
	}
	said := r.answers.get(pool)
	if r.now().Sub(said.at) >= askPeriod {
		said = answer{r.now(), r.askInTime(ctx, *asked)}
		r.answers.put(pool, said)
	}
	p.again(askPeriod)
	switch {
	case said.err == nil:
		return nil, nil
	case azure.CodeOf(said.err) == "":
		// Azure itself said nothing; that this operator does not reach it may be its own matter.
		ctrl.LoggerFrom(ctx).Info("cannot ask Azure why a machine is not made", "machine", first.Name, "error", said.err.Error())
		return nil, nil
	case azure.IsSignIn(said.err):
		return &problem{"", hyperv1.InvalidAzureCredentialsReason, fmt.Sprintf("identity nodePoolManagement cannot sign in: %v", said.err)}, nil
	}
	return &problem{"", hyperv1.AzureErrorReason, fmt.Sprintf("Azure refuses identity nodePoolManagement: %v", said.err)}, nil
}

func (r *Reconciler) askInTime(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return r.ask(ctx, q)
}

// questionAbout is nil where the machines' identity is none of the hosted cluster's issuer.
func (r *Reconciler) questionAbout(ctx context.Context, p *pass, machine string) (*question, error) {
	platform, key := p.hc.Spec.Platform.Azure, p.hc.Spec.ServiceAccountSigningKey
	if platform == nil || platform.AzureAuthenticationConfig.WorkloadIdentities == nil || key == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: p.hc.Namespace, Name: key.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil // the HostedCluster tells of it
	}
	if err != nil {
		return nil, fmt.Errorf("read the service account signing key %q: %w", key.Name, err)
	}
	return &question{
		platform: platform, clientID: string(platform.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID),
		issuer: p.hc.Spec.IssuerURL, signingKey: secret.Data[hyperv1.ServiceAccountSigningKey], machine: machine,
	}, nil
}

// askAzure looks at the virtual machine, which need not be there; the first thing that this takes is to sign in.
func askAzure(ctx context.Context, q question) error { return q.ask(ctx, nil) }

// ask goes through the client, or through the proxy of the environment when there is none.
func (q question) ask(ctx context.Context, through *http.Client) error {
	var options []azure.Option
	if through != nil {
		options = append(options, azure.WithHTTPClient(through))
	}
	base, err := azure.NewSession(azure.Credentials{SubscriptionID: q.platform.SubscriptionID, TenantID: q.platform.TenantID}, q.platform.Cloud, options...)
	if err != nil {
		return err
	}
	account := component.MachineProvider
	session, err := base.As(q.clientID, func(context.Context) (string, error) {
		return pki.ServiceAccountToken(q.signingKey, jwt.Claims{
			Issuer: q.issuer, Subject: "system:serviceaccount:" + account.Namespace + ":" + account.ServiceAccount,
			Audience: jwt.Audience{component.CloudAudience}}, time.Now(), askTokenLife)
	})
	if err != nil {
		return err
	}
	_, err = session.Get(ctx, session.ResourceID(q.platform.ResourceGroupName, typeVirtualMachine, q.machine), apiVirtualMachine)
	if azure.CodeOf(err) == codeNoSuchResource {
		return nil
	}
	return err
}
