// Package minter keeps a token of a hosted cluster's service account in a file, for a program that exchanges it at the cloud.
package minter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	lifetime = time.Hour
	// renewAt is the share of the lifetime after which a token is replaced.
	renewAt     = 0.8
	firstRetry  = 250 * time.Millisecond
	maxRetry    = 15 * time.Second
	reportEvery = 10 * time.Second
	callTimeout = 10 * time.Second
)

// Options of the token minter.
type Options struct {
	Namespace, ServiceAccount string
	Audience                  string
	TokenFile                 string
	Kubeconfig                string
	// Oneshot ends after the first token.
	Oneshot bool
	// Check only tells whether a token is there: the start-up probe of images without a shell.
	Check bool
}

// AddFlags registers the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Namespace, "service-account-namespace", "", "namespace of the service account in the hosted cluster")
	flags.StringVar(&o.ServiceAccount, "service-account-name", "", "name of the service account in the hosted cluster")
	flags.StringVar(&o.Audience, "token-audience", "openshift", "audience of the token")
	flags.StringVar(&o.TokenFile, "token-file", "/var/run/secrets/openshift/serviceaccount/token", "where the token is written")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "/etc/kubernetes/kubeconfig", "kubeconfig of the hosted cluster")
	flags.BoolVar(&o.Oneshot, "oneshot", false, "end after the first token")
	flags.BoolVar(&o.Check, "check", false, "only tell whether the token file exists")
}

// Run writes tokens until ctx ends.
func Run(ctx context.Context, options Options) error {
	if options.Check {
		if _, err := os.Stat(options.TokenFile); err != nil {
			return fmt.Errorf("no token yet: %w", err)
		}
		return nil
	}
	if options.Namespace == "" || options.ServiceAccount == "" {
		return errors.New("--service-account-namespace and --service-account-name are required")
	}
	m := &minter{Options: options, dial: dial, now: time.Now}
	for {
		renew, err := m.mintWithRetry(ctx)
		if err != nil || options.Oneshot {
			return ignoreDone(ctx, err)
		}
		if !pause(ctx, renew) {
			return nil
		}
	}
}

func ignoreDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

type minter struct {
	Options
	dial func(kubeconfig string) (kubernetes.Interface, error)
	now  func() time.Time
}

func dial(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read --kubeconfig: %w", err)
	}
	config.Timeout = callTimeout
	return kubernetes.NewForConfig(config)
}

// mintWithRetry keeps trying: the API server may be starting, upgrading, or gone for a while; the old token stays until then.
func (m *minter) mintWithRetry(ctx context.Context) (time.Duration, error) {
	logger := log.FromContext(ctx).WithValues("serviceAccount", m.Namespace+"/"+m.ServiceAccount)
	delay, reported := firstRetry, time.Time{}
	for {
		renew, err := m.mint(ctx)
		if err == nil {
			logger.Info("token written", "renewIn", renew.Round(time.Second).String())
			return renew, nil
		}
		if m.now().Sub(reported) > reportEvery {
			logger.Info("no token yet", "reason", err.Error())
			reported = m.now()
		}
		if !pause(ctx, delay) {
			return 0, ctx.Err()
		}
		delay = min(delay*2, maxRetry)
	}
}

// mint asks for a token, writes it, and tells when to come again.
func (m *minter) mint(ctx context.Context) (time.Duration, error) {
	// The kubeconfig is read each time: its certificate is replaced before it expires.
	c, err := m.dial(m.Kubeconfig)
	if err != nil {
		return 0, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{m.Audience}, ExpirationSeconds: ptr.To(int64(lifetime.Seconds()))}}
	response, err := c.CoreV1().ServiceAccounts(m.Namespace).CreateToken(ctx, m.ServiceAccount, request, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		if err := m.ensureServiceAccount(ctx, c); err != nil {
			return 0, err
		}
		response, err = c.CoreV1().ServiceAccounts(m.Namespace).CreateToken(ctx, m.ServiceAccount, request, metav1.CreateOptions{})
	}
	if err != nil {
		return 0, fmt.Errorf("request a token of service account %s/%s: %w", m.Namespace, m.ServiceAccount, err)
	}
	if err := writeAtomically(m.TokenFile, []byte(response.Status.Token)); err != nil {
		return 0, err
	}
	left := response.Status.ExpirationTimestamp.Sub(m.now())
	return max(time.Duration(float64(left)*renewAt), time.Second), nil
}

func (m *minter) ensureServiceAccount(ctx context.Context, c kubernetes.Interface) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.Namespace}}
	if _, err := c.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", m.Namespace, err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: m.ServiceAccount, Namespace: m.Namespace}}
	if _, err := c.CoreV1().ServiceAccounts(m.Namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create service account %s/%s: %w", m.Namespace, m.ServiceAccount, err)
	}
	return nil
}

// writeAtomically replaces the file in one step: its reader must never see half a token. The group may read it, because the
// reader is another container of the pod.
func writeAtomically(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".token-")
	if err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o640), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the token: %w", err)
	}
	return nil
}
