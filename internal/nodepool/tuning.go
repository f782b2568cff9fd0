package nodepool

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/tuning"
)

// nodeTuning is the capability without which nobody tunes nodes.
const nodeTuning hyperv1.OptionalCapability = "NodeTuning"

// tunes tells whether the payload's node tuning operator runs.
func (p *pass) tunes() bool {
	disabled := p.hc.Spec.Capabilities != nil && slices.Contains(p.hc.Spec.Capabilities.Disabled, nodeTuning)
	return p.release.Images[contract.TuningOperator] != "" && !disabled
}

// tuningConfig: no pool is made whose nodes would not be tuned as it says. One that has its machines already is kept up.
func (r *Reconciler) tuningConfig(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolValidTuningConfig
	problem := refusals(p, "spec.tuningConfig")
	if p.tunes() {
		return r.readTuning(ctx, p)
	}
	if problem == "" && len(p.np.Spec.TuningConfig) > 0 {
		problem = "spec.tuningConfig: capability NodeTuning is disabled, so the nodes would not be tuned; leave it out"
	}
	switch {
	case problem == "":
		p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
		return nil
	case p.maker == nil:
		p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason, problem)
		return p.stop()
	}
	p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason, problem+keptUp)
	return nil
}

// readTuning reads what the pool asks the node tuning operator for, and what that says of it.
func (r *Reconciler) readTuning(ctx context.Context, p *pass) error {
	const condition = hyperv1.NodePoolValidTuningConfig
	wanted, err := r.wantedTuning(ctx, p.np)
	if err != nil {
		p.set(condition, corev1.ConditionFalse, hyperv1.ValidationFailedReason, err.Error())
		return err
	}
	p.set(condition, corev1.ConditionTrue, hyperv1.AsExpectedReason, "")
	p.forOperator = append(p.forOperator, wanted.ConfigMaps(p.np, p.namespace)...)
	return r.tellProfile(ctx, p, wanted.Profile != "")
}

func (r *Reconciler) wantedTuning(ctx context.Context, np *hyperv1.NodePool) (*tuning.Configuration, error) {
	wanted := &tuning.Configuration{}
	for _, ref := range np.Spec.TuningConfig {
		source := &corev1.ConfigMap{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: np.Namespace, Name: ref.Name}, source); err != nil {
			return nil, fmt.Errorf("read ConfigMap %q of spec.tuningConfig: %w", ref.Name, err)
		}
		if err := wanted.Add(source); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// tellProfile repeats in conditions what the operator says of the pool's performance profile.
func (r *Reconciler) tellProfile(ctx context.Context, p *pass, asked bool) error {
	var told []hyperv1.NodePoolCondition
	if asked {
		said, err := r.operatorMaps(ctx, p, tuning.ProfileStatusLabel)
		if err != nil {
			return err
		}
		if told, err = tuning.ProfileStatus(said); err != nil {
			return err
		}
	}
	for _, name := range tuning.ProfileConditions() {
		if !slices.ContainsFunc(told, func(c hyperv1.NodePoolCondition) bool { return c.Type == name }) {
			p.remove(name)
		}
	}
	for _, c := range told {
		p.set(c.Type, c.Status, c.Reason, c.Message)
	}
	return nil
}

// operatorMaps are the ConfigMaps with the label that the operator keeps for the pool, in order of their names.
func (r *Reconciler) operatorMaps(ctx context.Context, p *pass, label string) ([]corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	if err := r.client.List(ctx, list, client.InNamespace(p.namespace), client.MatchingLabels{label: "true", hyperv1.NodePoolLabel: p.np.Name}); err != nil {
		return nil, fmt.Errorf("list ConfigMaps of the node tuning operator: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list.Items, nil
}

// generatedDocuments are what the operator wants on the pool's nodes. Kubelets may be configured once, by the user or by it.
func (r *Reconciler) generatedDocuments(ctx context.Context, p *pass) ([]string, error) {
	if !p.tunes() {
		return nil, nil
	}
	made, err := r.operatorMaps(ctx, p, tuning.GeneratedLabel)
	if err != nil {
		return nil, err
	}
	documents, kubelets, err := tuning.Generated(made)
	if err != nil {
		return nil, err
	}
	for _, ref := range p.np.Spec.Config {
		source := &corev1.ConfigMap{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: p.np.Namespace, Name: ref.Name}, source); err != nil {
			return nil, fmt.Errorf("read ConfigMap %q of spec.config: %w", ref.Name, err)
		}
		mirrored, own, err := tuning.Mirror(p.np, p.namespace, source)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %q of spec.config: %w", ref.Name, err)
		}
		if kubelets += own; mirrored != nil {
			p.forOperator = append(p.forOperator, mirrored)
		}
	}
	if kubelets > 1 {
		return nil, fmt.Errorf("kubelets of the node pool are configured %d times, with what the node tuning operator has made of spec.tuningConfig; put all into one KubeletConfig", kubelets)
	}
	return documents, nil
}

// tellOperator writes what the pool asks the node tuning operator for, and removes what it does not ask for any more.
func (r *Reconciler) tellOperator(ctx context.Context, p *pass) error {
	wanted := map[string]bool{}
	for _, config := range p.forOperator {
		wanted[config.Name] = true
		if err := r.apply(ctx, config); err != nil {
			return err
		}
	}
	return r.forgetTuning(ctx, p, wanted)
}

// forgetTuning deletes the pool's ConfigMaps for the operator, but those that are wanted.
func (r *Reconciler) forgetTuning(ctx context.Context, p *pass, wanted map[string]bool) error {
	list := &corev1.ConfigMapList{}
	if err := r.client.List(ctx, list, client.InNamespace(p.namespace), client.MatchingLabels{hyperv1.NodePoolLabel: p.np.Name}); err != nil {
		return fmt.Errorf("list ConfigMaps of the node pool: %w", err)
	}
	for i := range list.Items {
		if config := &list.Items[i]; tuning.IsOwn(config) && !wanted[config.Name] {
			if err := kube.DeleteIfExists(ctx, r.client, config); err != nil {
				return err
			}
		}
	}
	return nil
}
