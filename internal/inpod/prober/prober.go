// Package prober waits, in an init container, for what a pod needs; it replaces crash loops.
package prober

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// interval is short because every pod of a control plane waits behind a prober. A long wait is asked less and less often, up to
	// maxInterval: on a full machine the probers of many control planes would take the time they wait for.
	interval, maxInterval = 200 * time.Millisecond, 3 * time.Second
	attemptTimeout        = 5 * time.Second
	// reportEvery keeps the log readable while something takes its time.
	reportEvery = 10 * time.Second
)

// Options say what to wait for; every one that is set must hold once.
type Options struct {
	// Target is a URL that must answer 200.
	Target string
	// CAFile, CertFile and KeyFile are for Target.
	CAFile, CertFile, KeyFile string
	// Kubeconfig is for the conditions below.
	Kubeconfig string
	// RequiredAPIs are "group,version,Kind"; the core group is empty.
	RequiredAPIs []string
	// ClusterRoleBinding must exist, and the kubeconfig's user must be able to read it.
	ClusterRoleBinding string
	// Infrastructure: OpenShift's object of that name must tell how the cluster's infrastructure is called.
	Infrastructure bool
	// PodsGone are labels "namespace/key=value" that no pod may have, save those that take too long to end.
	PodsGone []string
	// Tunnel comes after all of these.
	Tunnel Tunnel
}

// AddFlags registers the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Target, "target", "", "URL to wait for")
	flags.StringVar(&o.CAFile, "ca-file", "", "certificate authorities to trust at the target")
	flags.StringVar(&o.CertFile, "cert-file", "", "client certificate for the target")
	flags.StringVar(&o.KeyFile, "key-file", "", "key of the client certificate")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster to look into")
	flags.StringArrayVar(&o.RequiredAPIs, "required-api", nil, "group,version,Kind that the cluster must serve; may be repeated")
	o.Tunnel.addFlags(flags)
	flags.StringVar(&o.ClusterRoleBinding, "wait-for-cluster-rolebinding", "", "ClusterRoleBinding that the cluster must have")
	flags.BoolVar(&o.Infrastructure, "wait-for-infrastructure-resource", false, "wait until the cluster's Infrastructure says how it is called")
	flags.StringArrayVar(&o.PodsGone, "wait-for-labeled-pods-gone", nil, "namespace/key=value that no pod of the cluster may have; may be repeated")
}

// Run returns when everything holds, or with ctx's error.
func Run(ctx context.Context, options Options) error {
	checks, err := options.checks()
	if err != nil {
		return err
	}
	for _, one := range checks {
		if err := wait(ctx, one.name, one.try); err != nil {
			return err
		}
	}
	if options.Tunnel.Own != "" {
		return options.Tunnel.wait(ctx, tunnelPatience)
	}
	return nil
}

type check func(context.Context) error

// named is a check with what it waits for.
type named struct {
	name string
	try  check
}

// checks in the order in which they are waited for.
func (o Options) checks() ([]named, error) {
	var checks []named
	if o.Target != "" {
		probe, err := o.targetCheck()
		if err != nil {
			return nil, err
		}
		checks = append(checks, named{o.Target, probe})
	}
	inside, err := o.insideChecks()
	if err != nil {
		return nil, err
	}
	if len(inside) > 0 && o.Kubeconfig == "" {
		return nil, errors.New("--required-api and the --wait-for flags need --kubeconfig")
	}
	if checks = append(checks, inside...); len(checks) == 0 {
		return nil, errors.New("nothing to wait for: pass --target, --required-api or a --wait-for flag")
	}
	return checks, nil
}

// insideChecks look into the cluster.
func (o Options) insideChecks() ([]named, error) {
	var checks []named
	for _, api := range o.RequiredAPIs {
		parts := strings.Split(api, ",")
		if len(parts) != 3 {
			return nil, fmt.Errorf("--required-api=%q is not of the form group,version,Kind", api)
		}
		checks = append(checks, named{"API " + api, func(context.Context) error { return o.requireAPI(parts[0], parts[1], parts[2]) }})
	}
	if o.ClusterRoleBinding != "" {
		checks = append(checks, named{"ClusterRoleBinding " + o.ClusterRoleBinding, o.requireBinding})
	}
	if o.Infrastructure {
		checks = append(checks, named{"Infrastructure", o.requireInfrastructure})
	}
	for _, labelled := range o.PodsGone {
		namespace, label, ok := strings.Cut(labelled, "/")
		if _, err := labels.Parse(label); !ok || err != nil || namespace == "" || label == "" {
			return nil, fmt.Errorf("--wait-for-labeled-pods-gone=%q is not of the form namespace/key=value", labelled)
		}
		checks = append(checks, named{"the end of pods " + labelled, func(ctx context.Context) error { return o.requireGone(ctx, namespace, label) }})
	}
	return checks, nil
}

func wait(ctx context.Context, name string, try check) error {
	logger := log.FromContext(ctx).WithValues("waitingFor", name)
	start, reported := time.Now(), time.Time{}
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := try(attempt)
		cancel()
		if err == nil {
			logger.Info("available", "after", time.Since(start).Round(time.Millisecond).String())
			return nil
		}
		if time.Since(reported) > reportEvery {
			logger.Info("not available yet", "reason", err.Error())
			reported = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting for %s: %w", name, ctx.Err())
		case <-time.After(pause(time.Since(start))):
		}
	}
}

// pause is how long to wait before the next attempt: a thirtieth of the wait so far, so that this is what asking rarely can cost.
func pause(waited time.Duration) time.Duration {
	return min(max(interval, waited/30), maxInterval)
}

func (o Options) targetCheck() (check, error) {
	config, err := clientConfig(o.CAFile, o.CertFile, o.KeyFile)
	if err != nil {
		return nil, err
	}
	// No proxy: what a control plane waits for is in its own namespace.
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.Target, nil)
		if err != nil {
			return err
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("answers %s", response.Status)
		}
		return nil
	}, nil
}

// clientConfig trusts the authorities of a file and shows a certificate; without files the system's authorities, and none.
func clientConfig(caFile, certFile, keyFile string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		text, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificate authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate authority", caFile)
		}
	}
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("load the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (o Options) client() (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig: %w", err)
	}
	config.Timeout = attemptTimeout
	return kubernetes.NewForConfig(config)
}

func (o Options) requireAPI(group, version, kind string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	list, err := c.Discovery().ServerResourcesForGroupVersion(strings.TrimPrefix(group+"/"+version, "/"))
	if err != nil {
		return err
	}
	for _, resource := range list.APIResources {
		if resource.Kind == kind {
			return nil
		}
	}
	return fmt.Errorf("the cluster serves no %s of %s/%s", kind, group, version)
}

func (o Options) requireBinding(ctx context.Context) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	_, err = c.RbacV1().ClusterRoleBindings().Get(ctx, o.ClusterRoleBinding, metav1.GetOptions{})
	return err
}
