package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/ignition/payloadrender"
)

const (
	// failurePeriod is how long a failure of a payload's programs stands for the same input: a render takes the machine's time.
	failurePeriod = 5 * time.Minute
	// maxOutcomes bounds what is remembered; a control plane has a few configurations.
	maxOutcomes = 64
)

// programs has configurations rendered by the payload's own programs, once for each input.
type programs struct {
	client    client.Client
	namespace string
	run       func(context.Context, payloadrender.Input) ([]byte, error)
	now       func() time.Time
	// known are the last outcomes, by token secret. One worker of one controller reads and writes it.
	known map[string]outcome
}

// outcome of a render.
type outcome struct {
	input   string
	payload []byte
	failure error
	at      time.Time
}

func (p *programs) render(ctx context.Context, g *gathered) ([]byte, error) {
	in, err := p.inputOf(ctx, g)
	if err != nil {
		return nil, err
	}
	if err := in.Check(); errors.Is(err, payloadrender.ErrCloudConfigPending) {
		return nil, fmt.Errorf("%w: %w", errCloudConfigPending, err)
	} else if err != nil {
		return nil, fmt.Errorf("failed to generate payload: %w", err)
	}
	digest, err := in.Digest()
	if err != nil {
		return nil, err
	}
	last, ok := p.known[g.secret.Name]
	if !ok || last.input != digest || last.failure != nil && p.now().Sub(last.at) >= failurePeriod {
		payload, err := p.run(ctx, *in)
		if passing(err) {
			return nil, fmt.Errorf("failed to generate payload: %w", err)
		}
		if err != nil {
			err = &invalidError{cause: fmt.Errorf("failed to generate payload: %w", err)}
		}
		last = outcome{input: digest, payload: payload, failure: err, at: p.now()}
		p.remember(g.secret.Name, last)
	}
	return last.payload, errors.Join(last.failure, p.releaseInfo(ctx, g))
}

func (p *programs) remember(secret string, last outcome) {
	if len(p.known) >= maxOutcomes {
		p.known = map[string]outcome{}
	}
	p.known[secret] = last
}

// passing: the same render may go well later.
func passing(err error) bool {
	var failed *payloadrender.StageError
	return err != nil && (!errors.As(err, &failed) || failed.Transient())
}

func (p *programs) inputOf(ctx context.Context, g *gathered) (*payloadrender.Input, error) {
	cluster := &corev1.ConfigMap{}
	err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: contract.MachineConfigServer}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", contract.MachineConfigServer, err)
	}
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ConfigMap %s does not exist yet", contract.MachineConfigServer)
	}
	in := &payloadrender.Input{
		ReleaseImage: string(g.secret.Data[ignition.TokenReleaseKey]), Version: g.payload.Version, Images: g.payload.Images, Access: g.access,
		Config: g.input.Manifests, OSStream: string(g.secret.Data[ignition.TokenOSStreamKey]), Cluster: maps.Clone(cluster.Data),
		BootstrapKubeconfig: g.input.BootstrapKubeconfig, PullSecret: g.input.PullSecret, TrustBundle: g.input.TrustBundle,
		Expected: payloadrender.HashesOf(g.secret.Data),
	}
	if len(g.cloud.Data) > 0 {
		in.CloudConfig = g.cloud
	}
	return in, nil
}

// releaseInfo tells the hosted control plane whether the payload has the images that its machine-config programs write into configurations.
func (p *programs) releaseInfo(ctx context.Context, g *gathered) error {
	condition := metav1.Condition{Type: hyperv1.IgnitionServerValidReleaseInfo, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason,
		Message: "the payload has every image that configurations of machines name"}
	if missing := payloadrender.MissingImages(g.payload.Images); len(missing) > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, hyperv1.MissingReleaseImagesReason
		condition.Message = "the release lacks images that configurations of machines name: " + strings.Join(missing, ", ")
	}
	condition.ObservedGeneration = g.hcp.Generation
	hcp := g.hcp.DeepCopy()
	// Not a patch: that would replace the conditions of others, who write at the same time while a control plane starts.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !meta.SetStatusCondition(&hcp.Status.Conditions, condition) {
			return nil
		}
		err := p.client.Status().Update(ctx, hcp)
		if apierrors.IsConflict(err) {
			return errors.Join(err, p.client.Get(ctx, client.ObjectKeyFromObject(g.hcp), hcp))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write condition %s: %w", condition.Type, err)
	}
	return nil
}
