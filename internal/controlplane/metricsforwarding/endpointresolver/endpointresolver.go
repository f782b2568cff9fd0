// Package endpointresolver tells the proxy of metrics, which has no rights of its own, where the pods of a control plane are.
package endpointresolver

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/serve"
)

const (
	// Name of the subcommand.
	Name = contract.EndpointResolver
	// Path is the URL path that serves queries.
	Path = "/resolve"

	// longest question, in bytes.
	longest = 64 << 10
)

// Question is which pods are asked for: those with all of the labels.
type Question struct {
	Selector map[string]string `json:"selector"`
}

// Pod is one of the answer.
type Pod struct {
	Name string `json:"name"`
	IP   string `json:"ip"`
}

// Answer has the pods that run and are ready, by name.
type Answer struct {
	Pods []Pod `json:"pods"`
}

// Options of the program.
type Options struct {
	CertFile, KeyFile string
	Port              int
	Namespace         string
}

// AddFlags binds the options; the environment has the namespace.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.CertFile, "tls-cert-file", "", "certificate of this server")
	flags.StringVar(&o.KeyFile, "tls-key-file", "", "its key")
	flags.IntVar(&o.Port, "serving-port", 9444, "port to listen at")
	o.Namespace = os.Getenv(contract.NamespaceEnv)
}

// Run answers until the context ends.
func Run(ctx context.Context, o Options) error {
	if o.Namespace == "" {
		return errors.New("MY_NAMESPACE is empty: set it to the namespace whose pods are told of")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w", err)
	}
	pods, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return fmt.Errorf("connect to the management cluster: %w", err)
	}
	return serve.HTTPS(ctx, o.Port, o.CertFile, o.KeyFile, &tls.Config{MinVersion: tls.VersionTLS12}, Handler(pods, o.Namespace))
}

// Handler answers for the pods of a namespace.
func Handler(pods client.Reader, namespace string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+Path, func(w http.ResponseWriter, r *http.Request) {
		question := Question{}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longest)).Decode(&question); err != nil {
			http.Error(w, "the question is no JSON: "+err.Error(), http.StatusBadRequest)
			return
		}
		if len(question.Selector) == 0 {
			http.Error(w, "selector is empty: name labels of the pods", http.StatusBadRequest)
			return
		}
		answer, err := resolve(r.Context(), pods, namespace, question)
		if err != nil {
			log.FromContext(r.Context()).Error(err, "pods are not told")
			http.Error(w, "the management cluster does not tell the pods", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			log.FromContext(r.Context()).Error(err, "send the answer")
		}
	})
	return mux
}

func resolve(ctx context.Context, pods client.Reader, namespace string, question Question) (Answer, error) {
	list := &corev1.PodList{}
	if err := pods.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(question.Selector)); err != nil {
		return Answer{}, fmt.Errorf("list the pods %v: %w", question.Selector, err)
	}
	answer := Answer{Pods: []Pod{}}
	for i := range list.Items {
		if pod := &list.Items[i]; serves(pod) {
			answer.Pods = append(answer.Pods, Pod{Name: pod.Name, IP: pod.Status.PodIP})
		}
	}
	slices.SortFunc(answer.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return answer, nil
}

func serves(pod *corev1.Pod) bool {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return ready && pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != ""
}
