package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// watches tell of changes of Secrets that are known by name: the server may read no others of its namespace. One watch follows each.
type watches struct {
	clients   kubernetes.Interface
	namespace string
	changed   chan event.GenericEvent

	mu      sync.Mutex
	started bool
	running map[string]chan struct{} // closed to end the watch
}

func newWatches(clients kubernetes.Interface, namespace string) *watches {
	return &watches{clients: clients, namespace: namespace, changed: make(chan event.GenericEvent), running: map[string]chan struct{}{}}
}

// Start follows the Secrets that payloads are made of, until ctx ends.
func (w *watches) Start(ctx context.Context) error {
	w.mu.Lock()
	w.started = true
	w.mu.Unlock()
	defer w.end()
	for name := range sources {
		if err := w.follow(name); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// errNotStarted is told while the manager starts its parts, and when it has ended them.
var errNotStarted = errors.New("the watches are not started")

// follow begins to tell of a Secret's changes, its being there among them.
func (w *watches) follow(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		return errNotStarted
	}
	if w.running[name] != nil {
		return nil
	}
	informer := corev1informers.NewFilteredSecretInformer(w.clients, w.namespace, 0, toolscache.Indexers{}, func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	})
	ended := make(chan struct{})
	tell := func() { w.tell(ended, name) }
	// What is in it is read when it is needed.
	err := informer.SetTransform(func(any) (any, error) {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}, nil
	})
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { tell() }, UpdateFunc: func(any, any) { tell() }, DeleteFunc: func(any) { tell() },
		})
	}
	if err != nil {
		return fmt.Errorf("follow Secret %s: %w", name, err)
	}
	w.running[name] = ended
	go informer.Run(ended)
	return nil
}

// tell has the tokens looked at that a change of the Secret concerns, unless that has no use any more.
func (w *watches) tell(useless <-chan struct{}, name string) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	select {
	case w.changed <- event.GenericEvent{Object: secret}:
	case <-useless:
	}
}

// end ends all watches, for good.
func (w *watches) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = false
	for name, ended := range w.running {
		close(ended)
		delete(w.running, name)
	}
}

// leave ends the watches of tokens that are not among the names, and returns them.
func (w *watches) leave(names map[string]bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var gone []string
	for name, ended := range w.running {
		if !names[name] && !sources[name] {
			close(ended)
			delete(w.running, name)
			gone = append(gone, name)
		}
	}
	return gone
}

// follows says whether a Secret's changes are told.
func (w *watches) follows(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[name] != nil
}

// tokens are the names of the token Secrets that are followed.
func (w *watches) tokens() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name := range w.running {
		if !sources[name] {
			names = append(names, name)
		}
	}
	return names
}

// namesReconciler follows the token Secrets that the Role of this server's rights on them names: who may make the one makes the other.
type namesReconciler struct {
	client  client.Client
	watches *watches
	store   *store
}

func (r *namesReconciler) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	role := &rbacv1.Role{}
	if err := r.client.Get(ctx, req.NamespacedName, role); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	names := map[string]bool{}
	for _, rule := range role.Rules {
		for _, name := range rule.ResourceNames {
			names[name] = true
		}
	}
	for _, gone := range r.watches.leave(names) {
		r.store.remove(gone)
		// A pass that read the Secret before may write to the store after this: the next one undoes it.
		r.watches.tell(ctx.Done(), gone)
	}
	for name := range names {
		if err := r.watches.follow(name); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}
