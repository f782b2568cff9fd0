package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pause"
)

// idFormat tells two requests of one second apart.
const idFormat = "20060102-150405.000000000"

// inPlace sends the etcd of the hosted cluster itself back to a backup:
//
//  1. refuse what cannot be done: a paused cluster, an etcd of the user's, no good backup, an address that cannot be signed;
//  2. say what is lost, and ask;
//  3. write the request, which the control plane's operator serves;
//  4. wait, if asked to, until the hosted cluster is available with the backup's data.
func (r *restoration) inPlace(ctx context.Context, hc *hyperv1.HostedCluster, backup *hyperv1.HCPEtcdBackup, address string, out io.Writer, say func(string, ...any)) error {
	hcp := &hyperv1.HostedControlPlane{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.controlPlane(), Name: hc.Name}, hcp); err != nil {
		return fmt.Errorf("read the control plane of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	if _, err := fmt.Fprintf(out, "etcd of HostedCluster %s/%s goes back to backup %s of %s. What has been written since is lost. "+
		"Its API server is away meanwhile; nodes and pods keep running. Nodes and pods that came since then are unknown afterwards.\n",
		hc.Namespace, hc.Name, backup.Name, backup.CreationTimestamp.UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	if r.dryRun {
		return nil
	}
	if err := r.agreed("restore in place"); err != nil {
		return err
	}
	request, err := r.request(ctx, hcp, backup, address)
	if err != nil {
		return err
	}
	if !r.wait {
		_, err := fmt.Fprintf(out, "The restore is asked for; condition EtcdRestoredInPlace tells of it: hypershift status cluster %s --namespace %s\n", hc.Name, hc.Namespace)
		return err
	}
	return r.await(ctx, request, out, say)
}

// agreed asks a person, unless --yes has answered.
func (r *restoration) agreed(what string) error {
	if r.yes {
		return nil
	}
	switch yes, asked := r.ask(); {
	case !asked:
		return fmt.Errorf("the input is not a terminal, so whether to %s cannot be confirmed; give --yes", what)
	case !yes:
		return errors.New("nothing is restored: the answer was not yes")
	}
	return nil
}

// restorable refuses a hosted cluster whose etcd cannot go back to a backup.
func (r *restoration) restorable(hc *hyperv1.HostedCluster) error {
	who := "HostedCluster " + hc.Namespace + "/" + hc.Name
	if hc.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		return fmt.Errorf("%s has an etcd of yours (spec.etcd.managementType Unmanaged): restore that one by its own means", who)
	}
	if paused, _, _ := pause.Read(hc.Spec.PausedUntil, r.now()); paused {
		return fmt.Errorf("%s is paused (spec.pausedUntil), and nothing would restore it; first: hypershift resume cluster %s --namespace %s", who, hc.Name, hc.Namespace)
	}
	if !hc.DeletionTimestamp.IsZero() {
		return fmt.Errorf("%s is being deleted", who)
	}
	return nil
}

// request writes the Secret that asks for it, in the place of a former one.
func (r *restoration) request(ctx context.Context, hcp *hyperv1.HostedControlPlane, backup *hyperv1.HCPEtcdBackup, address string) (*corev1.Secret, error) {
	request := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRestore, Namespace: hcp.Namespace}, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			contract.EtcdRestoreURL: []byte(address), contract.EtcdRestoreBackup: []byte(backup.Name),
			contract.EtcdRestoreID: []byte(backup.Name + "-" + r.now().UTC().Format(idFormat)),
		},
	}
	if err := controllerutil.SetControllerReference(hcp, request, r.client.Scheme()); err != nil {
		return nil, fmt.Errorf("make the request of a restore: %w", err)
	}
	err := r.client.Create(ctx, request)
	if apierrors.IsAlreadyExists(err) {
		former := &corev1.Secret{}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(request), former); err != nil {
			return nil, fmt.Errorf("read the former request: %w", err)
		}
		request.ResourceVersion = former.ResourceVersion
		err = r.client.Update(ctx, request)
	}
	if err != nil {
		return nil, fmt.Errorf("write the request, Secret %s/%s: %w", request.Namespace, request.Name, err)
	}
	return request, nil
}

// await tells how far the restore is until the hosted cluster is available again.
func (r *restoration) await(ctx context.Context, request *corev1.Secret, out io.Writer, say func(string, ...any)) error {
	began, said := r.now(), ""
	err := management.Within(ctx, waitPeriod, r.timeout, func(ctx context.Context) (bool, error) {
		now, done, err := r.progress(ctx, request)
		if now != said && err == nil {
			said = now
			say("%s", now)
		}
		return done, err
	})
	if err != nil {
		return fmt.Errorf("HostedCluster %s/%s is not available with the backup's data: %s: %w", r.namespace, r.name, said, err)
	}
	_, err = fmt.Fprintf(out, "HostedCluster %s/%s is available after %s\n", r.namespace, r.name, r.now().Sub(began).Round(time.Second))
	return err
}

// progress is where the request is, and whether the hosted cluster is available again.
func (r *restoration) progress(ctx context.Context, request *corev1.Secret) (now string, done bool, err error) {
	present, hc := &corev1.Secret{}, &hyperv1.HostedCluster{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(request), present); err != nil {
		return "", false, fmt.Errorf("read the request, Secret %s/%s: %w", request.Namespace, request.Name, err)
	}
	if string(present.Data[contract.EtcdRestoreID]) != string(request.Data[contract.EtcdRestoreID]) {
		return "", false, errors.New("another request has taken the place of this one")
	}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: r.name}, hc); err != nil {
		return "", false, management.Unread("HostedCluster", r.namespace, r.name, err)
	}
	restored := kube.Find(hc.Status.Conditions, hyperv1.EtcdRestoredInPlace)
	switch {
	case restored == nil || present.Annotations[contract.EtcdRestorePhase] != contract.EtcdRestoreDone && restored.Status == metav1.ConditionTrue:
		return "the control plane's operator has not looked at the request yet", false, nil
	case restored.Status != metav1.ConditionTrue:
		return restored.Message, false, nil
	}
	available := kube.Find(hc.Status.Conditions, hyperv1.HostedClusterAvailable)
	if available == nil || available.Status != metav1.ConditionTrue {
		return restored.Message + "; the API server starts", false, nil
	}
	return restored.Message, true, nil
}
