package nodepool

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/asking"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/observed"
)

// Azure's provider looks sizes of virtual machines up before it does anything for a machine. What fails there, a sign-in above all, is in its
// log and nowhere else: neither a condition nor an event tells it. What becomes of machines that are there it looks at every ten minutes only.
// So Azure is asked for its reasons as the provider would ask, with the same identity, for the same virtual machine: where a machine stays
// without a word, where the node of one is gone, and where the control plane finds that identities are refused. Nothing is asked while all
// machines are accounted for.

// patience is how long the provider has to say something about a machine.
const patience = 15 * time.Second

// silent tells whether nobody says why a machine has no infrastructure.
func silent(m capiv1.Machine) bool {
	if m.DeletionTimestamp != nil || observed.FailureOf(m).Message != "" || m.Spec.InfrastructureRef.Name == "" ||
		meta.IsStatusConditionTrue(m.Status.Conditions, observed.Ready) {
		return false
	}
	infrastructure := meta.FindStatusCondition(m.Status.Conditions, observed.InfrastructureReady)
	return infrastructure == nil || (infrastructure.Status != metav1.ConditionTrue && infrastructure.Reason == noWordReason)
}

// lost tells since when the node of a machine that was made is not well while its provider has nothing to say.
func lost(m capiv1.Machine) (since time.Time, is bool) {
	healthy := meta.FindStatusCondition(m.Status.Conditions, observed.NodeHealthy)
	if m.DeletionTimestamp != nil || !m.Status.NodeRef.IsDefined() || healthy == nil || healthy.Status == metav1.ConditionTrue ||
		!meta.IsStatusConditionTrue(m.Status.Conditions, observed.InfrastructureReady) {
		return time.Time{}, false
	}
	return healthy.LastTransitionTime.Time, true
}

// unaccounted is a machine of which Azure is asked, and since when it is to be.
type unaccounted struct {
	machine *capiv1.Machine
	since   time.Time
	made    bool
}

// toAskAbout is the oldest machine without a word, else the oldest one whose node is lost, else the oldest one while identities are refused.
func (p *pass) toAskAbout() *unaccounted {
	var found [3]*unaccounted
	refused := meta.FindStatusCondition(p.hc.Status.Conditions, string(hyperv1.PlatformCredentialsFound))
	for i := range p.machines {
		m := &p.machines[i]
		since, gone := lost(*m)
		at, one := len(found), &unaccounted{m, since, true}
		switch {
		case silent(*m):
			at, one = 0, &unaccounted{m, m.CreationTimestamp.Time, false}
		case gone:
			at = 1
		case m.DeletionTimestamp == nil && refused != nil && refused.Status == metav1.ConditionFalse && refused.Reason == hyperv1.InvalidAzureCredentialsReason:
			at, one.since = 2, refused.LastTransitionTime.Time
		}
		if at < len(found) && (found[at] == nil || m.CreationTimestamp.Before(&found[at].machine.CreationTimestamp)) {
			found[at] = one
		}
	}
	for _, one := range found {
		if one != nil {
			return one
		}
	}
	return nil
}

// azuresCause is why machines stay without a word, or are lost, as Azure says it; nil where it refuses nothing, or nobody has to be asked. It
// is of all such machines, or of the one that it names.
func (r *Reconciler) azuresCause(ctx context.Context, p *pass) (*problem, error) {
	pool, first := client.ObjectKeyFromObject(p.np), p.toAskAbout()
	if first == nil {
		r.answers.Forget(pool)
		return nil, nil
	}
	if age := r.now().Sub(first.since); age < patience {
		p.again(patience - age)
		return nil, nil
	}
	asker, err := r.identityOf(ctx, p)
	if err != nil || asker == nil {
		return nil, err
	}
	machine := first.machine.Spec.InfrastructureRef.Name
	said := r.answers.Get(pool)
	if r.now().Sub(said.At) >= asking.Period || said.About != machine {
		said = asking.Answer{At: r.now(), About: machine, Err: r.askInTime(ctx, asking.Question{Identity: *asker, Machine: machine, Made: first.made})}
		r.answers.Put(pool, said)
	}
	p.again(asking.Period)
	switch {
	case said.Err == nil:
		return nil, nil
	case failure.CodeOf(said.Err) == "":
		// Azure itself said nothing; that this operator does not reach it may be its own matter.
		ctrl.LoggerFrom(ctx).Info("cannot ask Azure about a machine", "machine", first.machine.Name, "error", said.Err.Error())
		return nil, nil
	case failure.IsSignIn(said.Err):
		return &problem{"", hyperv1.InvalidAzureCredentialsReason, fmt.Sprintf("identity nodePoolManagement cannot sign in: %v", said.Err)}, nil
	case failure.CodeOf(said.Err) == asking.CodeNoSuchResource:
		return &problem{first.machine.Name, hyperv1.AzureErrorReason, fmt.Sprintf("its virtual machine is gone, and nobody here deleted it: %v", said.Err)}, nil
	}
	return &problem{"", hyperv1.AzureErrorReason, fmt.Sprintf("Azure refuses identity nodePoolManagement: %v", said.Err)}, nil
}

// isOf tells whether what Azure said is why the machine is not as it should be.
func (found *problem) isOf(m capiv1.Machine) bool {
	if found == nil || found.machine != "" && found.machine != m.Name {
		return false
	}
	_, gone := lost(m)
	return gone || silent(m)
}

func (r *Reconciler) askInTime(ctx context.Context, q asking.Question) error {
	ctx, cancel := context.WithTimeout(ctx, asking.Timeout)
	defer cancel()
	return r.ask(ctx, q)
}

// identityOf is nil where the machines' identity is none of the hosted cluster's issuer.
func (r *Reconciler) identityOf(ctx context.Context, p *pass) (*asking.Identity, error) {
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
	return &asking.Identity{
		Platform: platform, ClientID: string(platform.AzureAuthenticationConfig.WorkloadIdentities.NodePoolManagement.ClientID),
		Issuer: p.hc.Spec.IssuerURL, SigningKey: secret.Data[hyperv1.ServiceAccountSigningKey],
	}, nil
}
