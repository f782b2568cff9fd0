// Package asking asks Azure as the identity that makes a hosted cluster's machines, and remembers what it said.
package asking

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apimachinery/pkg/types"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const (
	// Period is how soon Azure is asked again.
	Period = 30 * time.Second
	// Timeout is how long it has for an answer.
	Timeout   = 8 * time.Second
	tokenLife = 10 * time.Minute

	typeVirtualMachine = "Microsoft.Compute/virtualMachines"
	apiVirtualMachine  = "2024-03-01"
	// CodeNoSuchResource is Azure's answer about a virtual machine that is not there while its resource group is.
	CodeNoSuchResource = "ResourceNotFound"
)

// Identity is what makes machines, as Azure knows it.
type Identity struct {
	Platform   *hyperv1.AzurePlatformSpec
	ClientID   string
	Issuer     string
	SigningKey []byte
}

// Question is what Azure is asked: whether the identity that makes machines may look at one.
type Question struct {
	Identity Identity
	Machine  string
	Made     bool // the virtual machine was there
}

// Answers are what Azure said last, by pool.
type Answers struct {
	mu   sync.Mutex
	last map[types.NamespacedName]Answer
}

// Answer is what Azure said, when, and about which machine; an error is its refusal.
type Answer struct {
	At    time.Time
	About string
	Err   error
}

// Get is the pool's last one.
func (a *Answers) Get(pool types.NamespacedName) Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[pool]
}

// Put remembers one.
func (a *Answers) Put(pool types.NamespacedName, said Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[types.NamespacedName]Answer{}
	}
	a.last[pool] = said
}

// Forget is for a pool that nobody has to ask about.
func (a *Answers) Forget(pool types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, pool)
}

// Azure looks at the virtual machine, which need not be there if it is to be made; the first thing that this takes is to sign in.
func Azure(ctx context.Context, q Question) error { return q.Ask(ctx, nil) }

// session signs in as the identity, through the client, or through the proxy of the environment when there is none.
func (i Identity) session(through *http.Client) (*azure.Session, error) {
	var options []azure.Option
	if through != nil {
		options = append(options, azure.WithHTTPClient(through))
	}
	base, err := azure.NewSession(azure.Credentials{SubscriptionID: i.Platform.SubscriptionID, TenantID: i.Platform.TenantID}, i.Platform.Cloud, options...)
	if err != nil {
		return nil, err
	}
	account := component.MachineProvider
	return base.As(i.ClientID, func(context.Context) (string, error) {
		return pki.ServiceAccountToken(i.SigningKey, jwt.Claims{
			Issuer: i.Issuer, Subject: "system:serviceaccount:" + account.Namespace + ":" + account.ServiceAccount,
			Audience: jwt.Audience{component.CloudAudience}}, time.Now(), tokenLife)
	})
}

// Ask asks through the client, or through the proxy of the environment when there is none.
func (q Question) Ask(ctx context.Context, through *http.Client) error {
	session, err := q.Identity.session(through)
	if err != nil {
		return err
	}
	_, err = session.Get(ctx, session.ResourceID(q.Identity.Platform.ResourceGroupName, typeVirtualMachine, q.Machine), apiVirtualMachine)
	if !q.Made && failure.CodeOf(err) == CodeNoSuchResource {
		return nil
	}
	return err
}
