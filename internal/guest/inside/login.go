package inside

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Kubeadmin is the Secret of kube-system, and its key, with the hash of the first administrator's password.
const Kubeadmin = "kubeadmin"

// login reads how users log in with a payload that has a server for it.
func (r *Reader) login(ctx context.Context, facts *Facts) error {
	bundle := &corev1.ConfigMap{}
	if err := r.Management.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: contract.LoginCABundle}, bundle); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s of the control plane: %w", contract.LoginCABundle, err)
	}
	facts.LoginCA = bundle.Data[contract.CAKey]
	if clusterconfig.OAuthEnabled(facts.HCP) {
		facts.LoginURL, _ = strings.CutSuffix(facts.HCP.Status.OAuthCallbackURLTemplate, contract.OAuthCallback)
	}
	password, hash := &corev1.Secret{}, &corev1.Secret{}
	if err := r.Management.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: contract.KubeadminPassword}, password); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s of the control plane: %w", contract.KubeadminPassword, err)
	}
	if len(password.Data[hyperv1.KubeadminPasswordKey]) == 0 {
		return nil
	}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: KubeSystem, Name: Kubeadmin}, hash); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s of the guest: %w", Kubeadmin, err)
	}
	current, err := r.kubeadmin.of(password.Data[hyperv1.KubeadminPasswordKey], hash.Data[Kubeadmin])
	facts.KubeadminHash, facts.KubeadminNoted = string(current), password.Annotations[contract.KubeadminHash]
	return err
}

// passwordHash remembers which hash is of which password: to find out takes long, on purpose.
type passwordHash struct {
	mu             sync.Mutex
	password, hash []byte
}

// of is the hash of the password: the one that is there as long as it is one of it.
func (p *passwordHash) of(password, have []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := bytes.Equal(p.password, password) && len(p.hash) > 0
	if known && (len(have) == 0 || bytes.Equal(p.hash, have)) {
		return p.hash, nil
	}
	hash := have
	// The guest's administrators write the hash: one that costs more would keep this program busy for as long as they want.
	if cost, err := bcrypt.Cost(have); err != nil || cost > bcrypt.DefaultCost || bcrypt.CompareHashAndPassword(have, password) != nil {
		if known {
			return p.hash, nil
		}
		var err error
		if hash, err = bcrypt.GenerateFromPassword(password, bcrypt.DefaultCost); err != nil {
			return nil, fmt.Errorf("hash the password in Secret %s of the control plane: %w; a password has at most 72 bytes", contract.KubeadminPassword, err)
		}
	}
	p.password, p.hash = bytes.Clone(password), bytes.Clone(hash)
	return p.hash, nil
}
