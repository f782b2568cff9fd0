// Package approver approves the certificate requests of machines that Cluster API created, and of nobody else.
package approver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/guest/plane"
)

// maxPending is how many requests of one requestor may wait for one node: a kubelet makes a new one only when the last is lost, so more
// are a fault or an attack, which must not hold up anybody else.
const maxPending = 10

// floodPeriod is when a request is looked at again that the flood held up: nothing reports its end.
const floodPeriod = time.Minute

// Options configure the machine approver. On the management side it reads Machines with its service account; in the guest it needs
// to list and approve certificate signing requests and to read nodes.
type Options struct {
	// Namespace is the control-plane namespace.
	Namespace string
	// Kubeconfig leads to the guest.
	Kubeconfig string
	// MetricsAddr is a plain listener ("0": none).
	MetricsAddr string
}

// AddFlags registers the flags of the subcommand.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "control-plane namespace, where the Machines are")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the hosted cluster")
	flags.StringVar(&o.MetricsAddr, "metrics-addr", "0", "address of the metrics listener, 0 for none")
}

// Run works until ctx ends.
func Run(ctx context.Context, options Options) error {
	if options.Namespace == "" || options.Kubeconfig == "" {
		return errors.New("machine-approver: --namespace and --kubeconfig are both needed")
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return fmt.Errorf("machine-approver: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("machine-approver: read %s: %w", options.Kubeconfig, err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: options.MetricsAddr}})
	if err != nil {
		return fmt.Errorf("machine-approver: reach the hosted cluster: %w", err)
	}
	management, err := plane.Connect(scheme, options.Namespace)
	if err != nil {
		return fmt.Errorf("machine-approver: %w", err)
	}
	if err := manager.Add(management); err != nil {
		return fmt.Errorf("machine-approver: %w", err)
	}
	r := &reconciler{guest: manager.GetClient(), management: management.GetClient(), namespace: options.Namespace}
	if err := r.setup(manager, management); err != nil {
		return fmt.Errorf("machine-approver: %w", err)
	}
	return manager.Start(ctx)
}

type reconciler struct {
	guest, management client.Client
	namespace         string
}

func (r *reconciler) setup(manager ctrl.Manager, management cluster.Cluster) error {
	machine := &unstructured.Unstructured{}
	machine.SetGroupVersionKind(plane.MachineKind)
	return ctrl.NewControllerManagedBy(manager).Named(contract.MachineApprover).
		For(&certificatesv1.CertificateSigningRequest{}).
		WatchesRawSource(source.Kind[client.Object](management.GetCache(), machine, handler.EnqueueRequestsFromMapFunc(r.pendingRequests))).
		Complete(r)
}

// pendingRequests looks again at what waits when a Machine changes: its addresses may only now be known.
func (r *reconciler) pendingRequests(ctx context.Context, _ client.Object) []reconcile.Request {
	var list certificatesv1.CertificateSigningRequestList
	if err := r.guest.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list certificate signing requests")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if pending(&list.Items[i]) && ours(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	if err := r.guest.Get(ctx, req.NamespacedName, csr); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !pending(csr) || !ours(csr) {
		return ctrl.Result{}, nil
	}
	log := ctrl.LoggerFrom(ctx)
	machines, err := r.machines(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	nodes, err := r.nodes(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if refused := decide(csr, machines, nodes); refused != nil {
		log.Info("not approved", "reason", refused.Error())
		return ctrl.Result{}, nil
	}
	flooded, err := r.flooded(ctx, csr)
	if err != nil {
		return ctrl.Result{}, err
	}
	if flooded {
		log.Info("this requestor has more certificate signing requests waiting for this node than a kubelet makes, and none of them is approved; look at them, and delete them if the node is yours",
			"requestor", csr.Spec.Username, "more than", maxPending)
		return ctrl.Result{RequeueAfter: floodPeriod}, nil
	}
	return ctrl.Result{}, r.approve(ctx, csr)
}

// flooded counts what the requestor asks for the node of this request, which has been decided to be a machine's.
func (r *reconciler) flooded(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (bool, error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := r.guest.List(ctx, &list); err != nil {
		return false, fmt.Errorf("list certificate signing requests: %w", err)
	}
	node, waiting := subjectOf(csr), 0
	for i := range list.Items {
		other := &list.Items[i]
		if other.Spec.Username != csr.Spec.Username || other.Spec.SignerName != csr.Spec.SignerName || !pending(other) || subjectOf(other) != node {
			continue
		}
		if waiting++; waiting > maxPending {
			return true, nil
		}
	}
	return false, nil
}

func (r *reconciler) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	approved := csr.DeepCopy()
	approved.Status.Conditions = append(approved.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "NodeCSRApprove",
		Message: "This CSR was approved by the machine approver: its machine exists.",
	})
	if err := r.guest.SubResource("approval").Update(ctx, approved); err != nil {
		return fmt.Errorf("approve %s: %w", csr.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("approved", "signer", csr.Spec.SignerName, "requestor", csr.Spec.Username)
	return nil
}

func (r *reconciler) machines(ctx context.Context) ([]machine, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(plane.MachineKind.GroupVersion().WithKind(plane.MachineKind.Kind + "List"))
	if err := r.management.List(ctx, list, client.InNamespace(r.namespace)); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	machines := make([]machine, 0, len(list.Items))
	for i := range list.Items {
		machines = append(machines, machineOf(&list.Items[i]))
	}
	return machines, nil
}

func (r *reconciler) nodes(ctx context.Context) (map[string]bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.guest.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	known := map[string]bool{}
	for i := range list.Items {
		known[list.Items[i].Name] = true
	}
	return known, nil
}
