// Package status tells in a HostedControlPlane what a pass over it has learned.
package status

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Status is what a pass knows of a control plane.
type Status struct {
	Client client.Client
	HCP    *hyperv1.HostedControlPlane
	Now    func() time.Time
	// Release is the management side's, read from image ManagementRelease, GuestRelease the hosted cluster's; nil when they could not be read.
	Release, GuestRelease *release.Release
	ManagementRelease     string
	Endpoints             publish.Endpoints
	// Components are all there can be; OpenShiftOnly are the payload images of those that only an OpenShift payload has.
	Components    []component.Component
	OpenShiftOnly []string
	Results       component.Results
	// Reachable is the outcome of the probe of the published API server; Probed nil and Reachable false mean not probed.
	Reachable bool
	Probed    error
	// Invalid says what of the specification cannot be used, nil when all can.
	Invalid error
	// Azure and Encryption set the conditions of the key vault and of the identities, and of the key of etcd's data.
	Azure, Encryption func(kube.ConditionSetter)
	// Backups sets the condition of the newest backup.
	Backups func(kube.ConditionSetter)
	// Recovery sets the condition of the repair of etcd.
	Recovery func(kube.ConditionSetter)
	// Restoration sets the condition of the return of etcd to a backup.
	Restoration func(kube.ConditionSetter)

	// trouble of a workload is what keeps its pods from serving.
	trouble map[string]string
}

// equal tells whether two of them have the same status.
func equal(a, b *hyperv1.HostedControlPlane) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status)
}

// Set writes what the pass has learned into the object in memory; failed is what became of its steps.
func (s *Status) Set(ctx context.Context, failed error) {
	status := &s.HCP.Status
	status.ExternalManagedControlPlane = ptr.To(true)
	if s.Endpoints.APIServer.Known() {
		status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: s.Endpoints.APIServer.Host, Port: s.Endpoints.APIServer.Port}
	}
	s.findTrouble(ctx)
	s.setVersions()
	s.setConditions(ctx, failed)
	available := kube.IsTrue(status.Conditions, hyperv1.HostedControlPlaneAvailable)
	status.Ready = available
	// Whatever else fails: from now on somebody may have got a token for Azure.
	if s.Results.Available(contract.APIServer) && status.KubeConfig != nil {
		status.Initialized = true
	}
}

// setConditions sets them in the order in which one needs another.
func (s *Status) setConditions(ctx context.Context, failed error) {
	set := kube.Conditions(&s.HCP.Status.Conditions, s.HCP.Generation)
	if s.Invalid != nil {
		set.False(hyperv1.ValidHostedControlPlaneConfig, hyperv1.InvalidConfigurationReason, s.Invalid.Error())
	} else {
		set.True(hyperv1.ValidHostedControlPlaneConfig, hyperv1.AsExpectedReason, "")
	}
	s.setReleaseInfo(set)
	s.setEtcd(set)
	s.Azure(set)
	s.setRestored(set)
	s.Encryption(set)
	s.Backups(set)
	s.Recovery(set)
	s.Restoration(set)
	s.setAPIServer(set)
	s.setDegraded(ctx, set)
	s.setInfrastructure(set)
	s.setLogin(set)
	s.setExternalDNS(ctx, set)
	s.setAvailable(set, failed)
}

// Serving tells what is known of etcd and the API server, before the rest of a first pass is done: who waits for them goes on.
func (s *Status) Serving() {
	set := kube.Conditions(&s.HCP.Status.Conditions, s.HCP.Generation)
	s.setEtcd(set)
	s.setAPIServer(set)
}

// Write writes the status of a hosted control plane unless it is as it was before. It returns component.ErrBehind when somebody else was first.
func Write(ctx context.Context, c client.Client, before, hcp *hyperv1.HostedControlPlane) error {
	if equal(before, hcp) {
		return nil
	}
	// An update, not a merge patch: it locks on the version, because the config operator writes conditions of the same list, and it
	// keeps the nulls that the version status requires.
	err := c.Status().Update(ctx, hcp)
	if apierrors.IsConflict(err) {
		return component.ErrBehind
	}
	if err != nil {
		return fmt.Errorf("write the status of HostedControlPlane %s: %w", hcp.Name, err)
	}
	return nil
}
