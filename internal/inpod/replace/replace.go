// Package replace replaces the member of a hosted control plane's etcd that cannot start: its disk goes, and its pod joins again with an
// empty one.
package replace

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	answerTimeout = 5 * time.Second
	// healthKey need not exist: reading it needs a majority.
	healthKey = "health"
)

// Options say which etcd is repaired.
type Options struct {
	// Namespace has the StatefulSet, the pods and the claims of etcd.
	Namespace string
	// Endpoints are the client URLs of the members, by the names of their pods.
	Endpoints map[string]string
	// CAFile, CertFile and KeyFile are for a client of etcd.
	CAFile, CertFile, KeyFile string
	// Patience is how long the finding that nothing can be repaired has to last before it is believed, and Look the pause between looks.
	Patience, Look time.Duration
	// Heals is how long a replaced member may take to have the others' data.
	Heals time.Duration
}

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "namespace", "", "namespace of etcd")
	flags.StringToStringVar(&o.Endpoints, "endpoint", nil, "NAME=URL of each member: its pod, and where it listens for clients")
	flags.StringVar(&o.CAFile, "etcd-ca-cert", "", "authorities of the members' certificates")
	flags.StringVar(&o.CertFile, "etcd-client-cert", "", "certificate of a client of etcd")
	flags.StringVar(&o.KeyFile, "etcd-client-key", "", "its key")
	flags.DurationVar(&o.Patience, "patience", time.Minute, "how long etcd has to be beyond repair before that is said")
	flags.DurationVar(&o.Look, "look", 5*time.Second, "pause between two looks")
	flags.DurationVar(&o.Heals, "heals", 5*time.Minute, "how long a replaced member may take to have the data of the others")
}

// Run replaces the member that cannot start, and returns when all members take part. An error of type Unrecoverable means that somebody
// has to look; after another one it may be run again.
func Run(ctx context.Context, o Options) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the management cluster: %w", err)
	}
	return o.run(ctx, client)
}

func (o Options) run(ctx context.Context, client kubernetes.Interface) error {
	if o.Namespace == "" || len(o.Endpoints) == 0 {
		return errors.New("--namespace and --endpoint are required")
	}
	victim, err := o.decide(ctx, client)
	if err != nil || victim == "" {
		return err
	}
	if err := o.replace(ctx, client, victim); err != nil {
		return err
	}
	return o.waitHealed(ctx, client, victim)
}

// decide looks until there is something to do, nothing to do, or the same finding beyond repair for as long as Patience. A pod that is
// between two attempts to start, or a member that is slow, is another matter a moment later.
func (o Options) decide(ctx context.Context, client kubernetes.Interface) (string, error) {
	deadline := time.Now().Add(o.Patience)
	for {
		found, err := o.look(ctx, client)
		if err != nil {
			return "", err
		}
		victim, err := found.judge()
		if err == nil || !time.Now().Before(deadline) {
			return victim, err
		}
		log.FromContext(ctx).Info("etcd is not repaired yet", "reason", err.Error())
		if err := pause(ctx, o.Look); err != nil {
			return "", err
		}
	}
}

// look asks etcd and the management cluster.
func (o Options) look(ctx context.Context, client kubernetes.Interface) (findings, error) {
	found := findings{expected: slices.Sorted(maps.Keys(o.Endpoints)), unhealthy: map[string]error{}}
	pods, err := client.CoreV1().Pods(o.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + contract.Etcd})
	if err != nil {
		return found, fmt.Errorf("list the pods of etcd: %w", err)
	}
	found.failing = contract.FailingMembers(pods.Items)
	set, err := client.AppsV1().StatefulSets(o.Namespace).Get(ctx, contract.Etcd, metav1.GetOptions{})
	if err != nil {
		return found, fmt.Errorf("read StatefulSet %s/%s: %w", o.Namespace, contract.Etcd, err)
	}
	found.updating = set.Status.ObservedGeneration < set.Generation || set.Status.UpdateRevision != set.Status.CurrentRevision
	found.members, found.unheard = o.members(ctx)
	for name, endpoint := range o.Endpoints {
		if err := o.healthy(ctx, endpoint); err != nil {
			found.unhealthy[name] = err
		}
	}
	return found, nil
}

// members are those that the first member who answers counts, called by their pods. A majority has to agree with the answer.
func (o Options) members(ctx context.Context) ([]string, error) {
	failures := []error{errors.New("none answers")}
	for _, name := range slices.Sorted(maps.Keys(o.Endpoints)) {
		var names []string
		err := o.ask(ctx, o.Endpoints[name], func(ctx context.Context, client *clientv3.Client) error {
			answer, err := client.MemberList(ctx)
			if err != nil {
				return err
			}
			for _, m := range answer.Members {
				names = append(names, podOf(m.Name, m.PeerURLs))
			}
			return nil
		})
		if err == nil {
			return names, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", name, err))
	}
	return nil, errors.Join(failures...)
}

// podOf is the pod of a member. One that was added and has not started has no name, only the URL that begins with its pod's.
func podOf(name string, peers []string) string {
	if name != "" || len(peers) == 0 {
		return name
	}
	host := strings.TrimPrefix(peers[0], "https://")
	pod, _, _ := strings.Cut(host, ".")
	return pod
}

// healthy reads a key, for which the member needs the majority, and asks for its alarms.
func (o Options) healthy(ctx context.Context, endpoint string) error {
	return o.ask(ctx, endpoint, func(ctx context.Context, client *clientv3.Client) error {
		if _, err := client.Get(ctx, healthKey); err != nil && !errors.Is(err, rpctypes.ErrPermissionDenied) {
			return err
		}
		status, err := client.Status(ctx, endpoint)
		if err == nil && len(status.Errors) > 0 {
			err = fmt.Errorf("it raises %s", strings.Join(status.Errors, ", "))
		}
		return err
	})
}

func (o Options) ask(ctx context.Context, endpoint string, what func(context.Context, *clientv3.Client) error) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	config := clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: answerTimeout, Logger: zap.NewNop()}
	if o.CAFile != "" {
		info := transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile, MinVersion: tls.VersionTLS12}
		var err error
		if config.TLS, err = info.ClientConfig(); err != nil {
			return fmt.Errorf("read the certificates: %w", err)
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	return what(limited, client)
}

// replace takes the disk of the member away and starts its pod again, whose init container frees the member's place and joins anew. The
// claim goes when its pod has: until then it is protected.
func (o Options) replace(ctx context.Context, client kubernetes.Interface, victim string) error {
	claim := "data-" + victim
	log.FromContext(ctx).Info("a member of etcd is replaced by the others' data: its disk goes", "member", victim, "claim", claim)
	pod, err := client.CoreV1().Pods(o.Namespace).Get(ctx, victim, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read pod %s: %w", victim, err)
	}
	if err := client.CoreV1().PersistentVolumeClaims(o.Namespace).Delete(ctx, claim, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete claim %s: %w", claim, err)
	}
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	if err := client.CoreV1().Pods(o.Namespace).Delete(ctx, victim, only); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", victim, err)
	}
	return nil
}

// waitHealed returns when every member takes part.
func (o Options) waitHealed(ctx context.Context, client kubernetes.Interface, victim string) error {
	limited, cancel := context.WithTimeout(ctx, o.Heals)
	defer cancel()
	for {
		found, err := o.look(limited, client)
		if err == nil && found.unheard == nil && len(found.unhealthy) == 0 && len(found.members) == len(found.expected) {
			log.FromContext(ctx).Info("all members of etcd take part", "replaced", victim)
			return nil
		}
		if pause(limited, o.Look) != nil {
			return fmt.Errorf("member %s was replaced and does not take part after %s: %w", victim, o.Heals, errors.Join(err, found.unheard, found.unhealthy[victim]))
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
