package ignitionserver

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// TokenRights keeps the rights of the ignition server on Secrets with tokens of node pools: on each by its name, since no right can be
// had on those with an annotation. The server learns the names from the Role. The config operator may read those with a configuration in
// them, by which nodes are changed in place.
type TokenRights struct {
	Client client.Client
	// Namespace is the control-plane namespace.
	Namespace string
}

// Setup registers the controller.
func (r *TokenRights) Setup(manager ctrl.Manager) error {
	key := client.ObjectKey{Namespace: r.Namespace, Name: contract.IgnitionTokens}
	role := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: key}}
	})
	itself := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetName() == contract.IgnitionTokens || obj.GetName() == contract.InPlaceTokens
	})
	err := ctrl.NewControllerManagedBy(manager).Named("ignition-token-rights").
		Watches(&corev1.Secret{}, role, builder.WithPredicates(predicate.NewPredicateFuncs(isToken))).
		Watches(&rbacv1.Role{}, role, builder.WithPredicates(itself)).
		Watches(&rbacv1.RoleBinding{}, role, builder.WithPredicates(itself)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of rights on tokens: %w", err)
	}
	return nil
}

func isToken(obj client.Object) bool {
	return obj.GetAnnotations()[hyperv1.IgnitionConfigAnnotation] == "true"
}

// Reconcile writes the Role and its binding, where they are not so already.
func (r *TokenRights) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	secrets := &corev1.SecretList{}
	if err := r.Client.List(ctx, secrets, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list tokens of node pools: %w", err)
	}
	var all, offered []string
	for i := range secrets.Items {
		token := &secrets.Items[i]
		if !isToken(token) {
			continue
		}
		all = append(all, token.Name)
		if len(token.Data[ignition.TokenPayloadKey]) > 0 {
			offered = append(offered, token.Name)
		}
	}
	server := r.rights(contract.IgnitionTokens, Name, "get,list,watch,update,patch,delete", all)
	if err := kube.Apply(ctx, r.Client, fieldManager, server...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.offer(ctx, r.rights(contract.InPlaceTokens, contract.ConfigOperator, "get", offered), len(offered) > 0)
}

// rights are a Role on Secrets of these names, and its binding to an account.
func (r *TokenRights) rights(name, account, verbs string, secrets []string) []client.Object {
	slices.Sort(secrets)
	named := metav1.ObjectMeta{Namespace: r.Namespace, Name: name}
	role := &rbacv1.Role{ObjectMeta: named}
	if len(secrets) > 0 { // a rule without names is one for all
		role.Rules = []rbacv1.PolicyRule{rbac.Named(rbac.Rule("", verbs, "secrets"), secrets...)}
	}
	return []client.Object{role, &rbacv1.RoleBinding{
		ObjectMeta: named,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: r.Namespace, Name: account}},
	}}
}

// offer has the rights there as long as a node pool offers a configuration.
func (r *TokenRights) offer(ctx context.Context, rights []client.Object, wanted bool) error {
	if wanted {
		return kube.Apply(ctx, r.Client, fieldManager, rights...)
	}
	for _, obj := range rights {
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil {
			err = r.Client.Delete(ctx, obj)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("take back the rights %s: %w", obj.GetName(), err)
		}
	}
	return nil
}

// fieldManager owns what TokenRights applies.
const fieldManager = "ignition-token-rights"
