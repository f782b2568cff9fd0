package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/buildinfo"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// OperatorMinors reads which minor versions the operator runs, in whichever namespace it lives.
func OperatorMinors(ctx context.Context, c client.Client) ([]string, error) {
	list := &corev1.ConfigMapList{}
	if err := c.List(ctx, list, client.MatchingLabels{hyperv1.SupportedVersionsLabel: "true"}); err != nil {
		return nil, fmt.Errorf("cannot read which releases the operator runs: %w", err)
	}
	for i := range list.Items {
		if cm := &list.Items[i]; cm.Name == contract.SupportedVersions {
			return ParseMinors(cm)
		}
	}
	return nil, errors.New("no operator says which releases it runs (ConfigMap supported-versions); install it with `hypershift install`, or give --release-image")
}

// ParseMinors reads the minor versions, such as 4.21, that the ConfigMap SupportedVersions lists.
func ParseMinors(cm *corev1.ConfigMap) ([]string, error) {
	var list struct {
		Versions []string `json:"versions"`
	}
	if err := json.Unmarshal([]byte(cm.Data[contract.SupportedVersions]), &list); err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s is malformed: %w", cm.Namespace, cm.Name, err)
	}
	return list.Versions, nil
}

// ParseKinds reads the kinds of payload that the ConfigMap SupportedVersions lists; an operator of before they were published lists none.
func ParseKinds(cm *corev1.ConfigMap) ([]string, error) {
	text, ok := cm.Data[contract.PayloadKindsKey]
	if !ok {
		return nil, nil
	}
	var list struct {
		Kinds []string `json:"kinds"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s, payload-kinds is malformed: %w", cm.Namespace, cm.Name, err)
	}
	return list.Kinds, nil
}

// OperatorNamespace is where the operator is installed unless told otherwise.
const OperatorNamespace = "hypershift"

// CheckServerVersion refuses an operator of another build than this program.
func CheckServerVersion(ctx context.Context, c client.Client) error {
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: OperatorNamespace, Name: contract.SupportedVersions}
	if err := c.Get(ctx, key, cm); err != nil {
		return fmt.Errorf("--version-check: cannot read ConfigMap %s, in which the operator says what it is: %w", key, err)
	}
	if own, theirs := buildinfo.Get().Commit, cm.Data[contract.ServerVersionKey]; own != theirs {
		return fmt.Errorf("--version-check: this program is of revision %s, the operator of %s; install the operator with this program, or use the program it was installed with", own, theirs)
	}
	return nil
}
