package hostedcluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// Probe finds out which optional APIs the management cluster serves.
func Probe(mapper meta.RESTMapper) (Capabilities, error) {
	var capabilities Capabilities
	for kind, found := range map[schema.GroupKind]*bool{
		routeKind.GroupKind(): &capabilities.Routes,
		{Group: "security.openshift.io", Kind: "SecurityContextConstraints"}: &capabilities.SecurityContextConstraints,
	} {
		_, err := mapper.RESTMapping(kind)
		if err != nil && !meta.IsNoMatchError(err) {
			return Capabilities{}, fmt.Errorf("ask the management cluster for %s: %w", kind, err)
		}
		*found = err == nil
	}
	return capabilities, nil
}

// IngressDomain is the domain of the management cluster's default router; empty when it has none.
func IngressDomain(ctx context.Context, live client.Reader) (string, error) {
	ingress := &unstructured.Unstructured{}
	ingress.SetGroupVersionKind(schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Ingress"})
	err := live.Get(ctx, client.ObjectKey{Name: "cluster"}, ingress)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the management cluster's Ingress configuration: %w", err)
	}
	domain, _, err := unstructured.NestedString(ingress.Object, "spec", "domain")
	if err != nil {
		return "", fmt.Errorf("the management cluster's Ingress configuration is malformed: %w", err)
	}
	return domain, nil
}

// SupportedVersions publishes which minor versions this operator runs: the command line chooses its default release by it.
type SupportedVersions struct {
	Client    client.Client
	Namespace string
	Commit    string
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*SupportedVersions) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (s *SupportedVersions) Start(ctx context.Context) error {
	list, err := json.Marshal(map[string][]string{"versions": supportedMinors()})
	if err != nil {
		return fmt.Errorf("encode the supported versions: %w", err)
	}
	return kube.Apply(ctx, s.Client, fieldManager, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "supported-versions", Namespace: s.Namespace, Labels: map[string]string{hyperv1.SupportedVersionsLabel: "true"},
		},
		Data: map[string]string{"supported-versions": string(list), "server-version": s.Commit},
	})
}

// supportedMinors lists the newest first; 5.0 and 4.23 are two names of one version.
func supportedMinors() []string {
	var minors []string
	for minor := newestMinor.Minor(); ; minor-- {
		minors = append(minors, fmt.Sprintf("%d.%d", newestMinor.Major(), minor))
		if minor == 0 {
			break
		}
	}
	for minor := uint(lastOfMajor4); minor >= oldestRelease.Minor(); minor-- {
		minors = append(minors, fmt.Sprintf("%d.%d", oldestRelease.Major(), minor))
	}
	return minors
}
