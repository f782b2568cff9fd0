// Package routes is the router of the management cluster, as OpenShift has one: TLS connections by the name of a Route, the status of
// Routes, and the injected trust bundle.
package routes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/kubeclient"
	"github.com/hypershift-on-azure/hypershift/sandbox/cluster/names"
	"github.com/hypershift-on-azure/hypershift/sni"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

var (
	routesResource     = schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}
	slicesResource     = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	servicesResource   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	configMapsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

const (
	helloTimeout = 10 * time.Second
	dialTimeout  = 5 * time.Second
	// hostedLabel marks routes that the router of a hosted cluster serves.
	hostedLabel = "hypershift.openshift.io/hosted-control-plane"
)

// Run is the default router of the management cluster: it passes TLS
// connections through to the pods of the Route that has their name, and
// keeps the status of Routes. It also fills the ConfigMaps that ask for the
// trusted CA with the bundle, a file.
func Run(ctx context.Context, kubeconfig, bundle string) error {
	k, err := kubeclient.New(kubeconfig)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", names.RouterIP+":443")
	if err != nil {
		return err
	}
	defer listener.Close()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(k, 0)
	r := &table{client: k, hosts: map[string]target{}, from: names.RouterIP,
		services: factory.ForResource(servicesResource).Lister(), slices: factory.ForResource(slicesResource).Lister()}
	routes := factory.ForResource(routesResource).Informer()
	r.routes = routes.GetIndexer()
	set, gone := func(o *unstructured.Unstructured) { r.changed(ctx, o) }, func(o *unstructured.Unstructured) { r.removed(ctx, o) }
	if _, err := routes.AddEventHandler(kubeclient.Handler(set, gone)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	injected, err := startInjector(ctx, bundle, k)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = listener.Close()
	}()
	factory.WaitForCacheSync(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), injected)
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go r.serve(ctx, conn)
	}
}

// target is where a Route's connections go.
type target struct {
	route              string // namespace/name, the owner of the host name
	namespace, service string
	port               string // name or number of the Service's port or its target
	created            time.Time
}

// table knows the Routes by host name.
type table struct {
	client           dynamic.Interface
	services, slices cache.GenericLister
	routes           cache.Indexer
	from             string // own address towards pods, by which network policies know the router; "" is the machine's choice

	mu    sync.RWMutex
	hosts map[string]target
}

// changed takes a route as it is now. Host names that it gave up, or had to, are for others to have or to be told of.
func (r *table) changed(ctx context.Context, route *unstructured.Unstructured) {
	if _, hosted := route.GetLabels()[hostedLabel]; hosted {
		r.removed(ctx, route)
		return
	}
	t := targetOf(route)
	host := hostOf(route)
	free := r.forget(t.route, host)
	r.mu.Lock()
	owner, taken := r.hosts[host]
	admitted := !taken || owner.route == t.route || t.created.Before(owner.created)
	if admitted {
		r.hosts[host] = t
	}
	r.mu.Unlock()
	if err := admit(ctx, r.client, route, host, admitted); err != nil {
		slog.Error("status of a route", "route", t.route, "error", err)
	}
	if admitted && taken && owner.route != t.route {
		free = append(free, host)
	}
	r.offer(ctx, t.route, free)
}

// removed forgets a route.
func (r *table) removed(ctx context.Context, route *unstructured.Unstructured) {
	name := route.GetNamespace() + "/" + route.GetName()
	r.offer(ctx, name, r.forget(name, ""))
}

// offer has the other routes of host names looked at again.
func (r *table) offer(ctx context.Context, but string, hosts []string) {
	if len(hosts) == 0 {
		return
	}
	for _, o := range r.routes.List() {
		other, ok := o.(*unstructured.Unstructured)
		if ok && slices.Contains(hosts, hostOf(other)) && other.GetNamespace()+"/"+other.GetName() != but {
			r.changed(ctx, other)
		}
	}
}

// forget removes the host names of a route but one, and returns them.
func (r *table) forget(route, but string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var free []string
	for host, t := range r.hosts {
		if t.route == route && host != but {
			delete(r.hosts, host)
			free = append(free, host)
		}
	}
	return free
}

func targetOf(route *unstructured.Unstructured) target {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedFieldNoCopy(route.Object, fields...)
		if value == nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	return target{
		route: route.GetNamespace() + "/" + route.GetName(), namespace: route.GetNamespace(),
		service: text("spec", "to", "name"), port: text("spec", "port", "targetPort"),
		created: route.GetCreationTimestamp().Time,
	}
}

// hostOf is the route's name, or the one it gets.
func hostOf(route *unstructured.Unstructured) string {
	host, _, _ := unstructured.NestedString(route.Object, "spec", "host")
	if host == "" {
		host = route.GetName() + "-" + route.GetNamespace() + "." + names.AppsDomain
	}
	return strings.ToLower(host)
}

// serve passes one connection through.
func (r *table) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(helloTimeout))
	name, hello, err := sni.Read(ctx, conn)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	r.mu.RLock()
	t, ok := r.hosts[strings.ToLower(name)]
	r.mu.RUnlock()
	if !ok {
		return
	}
	backends, err := r.backends(t)
	if err != nil {
		slog.Warn("route without a backend", "route", t.route, "error", err)
		return
	}
	backend, err := r.dial(ctx, backends)
	if err != nil {
		slog.Warn("route whose backends do not answer", "route", t.route, "error", err)
		return
	}
	defer backend.Close()
	if _, err := backend.Write(hello); err != nil {
		return
	}
	splice(conn, backend)
}

// dial reaches the first backend that answers.
func (r *table) dial(ctx context.Context, backends []string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, LocalAddr: &net.TCPAddr{IP: net.ParseIP(r.from)}}
	var failures []error
	for _, address := range backends {
		backend, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return backend, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// splice copies both ways until both are done.
func splice(a, b net.Conn) {
	var wg sync.WaitGroup
	oneWay := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	wg.Go(func() { oneWay(a, b) })
	wg.Go(func() { oneWay(b, a) })
	wg.Wait()
}

// backends are where the pods of a route's Service answer, in random order. As OpenShift's router does, ours goes to the pods themselves and not to the
// address of the Service, so that they see who comes.
func (r *table) backends(t target) ([]string, error) {
	o, err := r.services.ByNamespace(t.namespace).Get(t.service)
	if err != nil {
		return nil, err
	}
	port, err := portName(o.(*unstructured.Unstructured), t.port)
	if err != nil {
		return nil, err
	}
	selector := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: t.service})
	found, err := r.slices.ByNamespace(t.namespace).List(selector)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, o := range found {
		var slice discoveryv1.EndpointSlice
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.(*unstructured.Unstructured).Object, &slice); err != nil {
			return nil, err
		}
		all = append(all, addresses(slice, port)...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("service %s/%s has no pod that is ready", t.namespace, t.service)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, nil
}

// portName is what the Service calls the port that a Route means by its name or by what it leads to; the first one where the Route names none.
func portName(o *unstructured.Unstructured, wanted string) (string, error) {
	var service corev1.Service
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &service); err != nil {
		return "", err
	}
	for _, port := range service.Spec.Ports {
		if slices.Contains([]string{"", port.Name, port.TargetPort.String(), strconv.Itoa(int(port.Port))}, wanted) {
			return port.Name, nil
		}
	}
	return "", fmt.Errorf("service %s/%s has no port %q", service.Namespace, service.Name, wanted)
}

func addresses(slice discoveryv1.EndpointSlice, port string) []string {
	var all []string
	for _, p := range slice.Ports {
		if p.Port == nil || ptr.Deref(p.Name, "") != port {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) && len(endpoint.Addresses) > 0 {
				all = append(all, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*p.Port))))
			}
		}
	}
	return all
}
