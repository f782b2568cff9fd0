// Autoscaler plays the cluster autoscaler, whose program no Go module proxy serves. It runs in that program's place, with its arguments, its
// service account and its rights, and makes the calls of its provider for Cluster API, one by one, when a script says so. It decides nothing.
//
//	cluster-autoscaler --cloud-provider=clusterapi …   answers the health check
//	cluster-autoscaler groups                          prints the node groups that it finds, with what it reads of them
//	cluster-autoscaler grow GROUP COUNT                adds machines
//	cluster-autoscaler remove GROUP MACHINE            takes one machine away: it is marked, then the group shrinks
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
)

const (
	group         = "cluster.x-k8s.io"
	nodeGroup     = group + "/cluster-api-autoscaler-node-group-"
	deleteMachine = group + "/delete-machine"
	capacity      = "capacity.cluster-autoscaler.kubernetes.io/"
	healthAddress = ":8085"
	callTimeout   = 30 * time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name a command: groups, grow or remove")
	}
	if strings.HasPrefix(args[0], "--") {
		return serve()
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	p, err := newPlayer()
	if err != nil {
		return err
	}
	switch {
	case args[0] == "groups" && len(args) == 1:
		return p.groups(ctx)
	case args[0] == "grow" && len(args) == 3:
		count, err := strconv.ParseInt(args[2], 10, 32)
		if err != nil {
			return err
		}
		return p.grow(ctx, args[1], int32(count))
	case args[0] == "remove" && len(args) == 3:
		return p.remove(ctx, args[1], args[2])
	}
	return fmt.Errorf("there is no command %q", args)
}

func serve() error {
	http.HandleFunc("/health-check", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	server := &http.Server{Addr: healthAddress, ReadHeaderTimeout: callTimeout}
	return server.ListenAndServe()
}

// player is the provider for Cluster API: it reads objects whatever their version, and sizes them by the scale subresource.
type player struct {
	namespace string
	version   string
	objects   dynamic.Interface
	scales    scale.ScalesGetter
}

func newPlayer() (*player, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	version, err := preferredVersion(found)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(found))
	if err != nil {
		return nil, err
	}
	return &player{namespace: os.Getenv("MY_NAMESPACE"), version: version, objects: objects, scales: scales}, nil
}

// preferredVersion is that of the group which the API server prefers.
func preferredVersion(found discovery.ServerGroupsInterface) (string, error) {
	groups, err := found.ServerGroups()
	if err != nil {
		return "", err
	}
	for _, g := range groups.Groups {
		if g.Name == os.Getenv("CAPI_GROUP") {
			return g.PreferredVersion.Version, nil
		}
	}
	return "", fmt.Errorf("the API server has no group %s", os.Getenv("CAPI_GROUP"))
}

func (p *player) resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: p.version, Resource: name}
}

// groups reads what the provider's informers read, and prints a line for each node group.
func (p *player) groups(ctx context.Context) error {
	for _, kind := range []string{"machines", "machinesets", "machinepools"} {
		if _, err := p.objects.Resource(p.resource(kind)).Namespace(p.namespace).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	list, err := p.objects.Resource(p.resource("machinedeployments")).Namespace(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		found := &list.Items[i]
		if _, isGroup := found.GetAnnotations()[nodeGroup+"max-size"]; !isGroup {
			continue
		}
		if err := p.readTemplate(ctx, found); err != nil {
			return err
		}
		size, err := p.scales.Scales(p.namespace).Get(ctx, p.resource("machinedeployments").GroupResource(), found.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		told := found.GetAnnotations()
		fmt.Printf("group=%s min=%s max=%s replicas=%d", found.GetName(), told[nodeGroup+"min-size"], told[nodeGroup+"max-size"], size.Spec.Replicas)
		for _, key := range []string{"cpu", "memory", "ephemeral-disk", "maxPods", "labels", "taints"} {
			fmt.Printf(" %s=%s", key, told[capacity+key])
		}
		fmt.Println()
	}
	return nil
}

// readTemplate reads the template of a group's machines, whose status may tell their capacity.
func (p *player) readTemplate(ctx context.Context, group *unstructured.Unstructured) error {
	name, _, err := unstructured.NestedString(group.Object, "spec", "template", "spec", "infrastructureRef", "name")
	if err != nil {
		return err
	}
	templates := schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "azuremachinetemplates"}
	_, err = p.objects.Resource(templates).Namespace(p.namespace).Get(ctx, name, metav1.GetOptions{})
	return err
}

// grow is NodeGroup.IncreaseSize, or for a negative count DecreaseTargetSize.
func (p *player) grow(ctx context.Context, name string, count int32) error {
	what := p.resource("machinedeployments")
	size, err := p.scales.Scales(p.namespace).Get(ctx, what.GroupResource(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	size.Spec.Replicas += count
	changed, err := p.scales.Scales(p.namespace).Update(ctx, what.GroupResource(), size, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	fmt.Println("replicas", changed.Spec.Replicas)
	return nil
}

// remove is NodeGroup.DeleteNodes for one node.
func (p *player) remove(ctx context.Context, name, machine string) error {
	machines := p.objects.Resource(p.resource("machines")).Namespace(p.namespace)
	marked, err := machines.Get(ctx, machine, metav1.GetOptions{})
	if err != nil {
		return err
	}
	annotations := marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[deleteMachine] = time.Now().String()
	marked.SetAnnotations(annotations)
	if _, err := machines.Update(ctx, marked, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return p.grow(ctx, name, -1)
}
