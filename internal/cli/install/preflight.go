package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
)

// preflightLimit bounds a question outside of the management cluster: whoever installs may not reach what the cluster does.
const preflightLimit = 10 * time.Second

// readDNSCredentials takes them from the file, or from the Secret that is named instead; nil when there is nothing to sign in with from here.
func (i *installer) readDNSCredentials(ctx context.Context) (*install.AzureDNSCredentials, error) {
	e := i.opts.ExternalDNS
	raw := e.Credentials
	if e.SecretName != "" {
		secret := &corev1.Secret{}
		err := i.client.Get(ctx, client.ObjectKey{Namespace: i.opts.Namespace, Name: e.SecretName}, secret)
		if apierrors.IsNotFound(err) {
			i.say("warning: Secret %s/%s of --external-dns-secret does not exist; ExternalDNS waits for it", i.opts.Namespace, e.SecretName)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read Secret %s/%s: %w", i.opts.Namespace, e.SecretName, err)
		}
		if raw = secret.Data["credentials"]; len(raw) == 0 {
			return nil, fmt.Errorf("secret %s/%s of --external-dns-secret has no key \"credentials\"; add it", i.opts.Namespace, e.SecretName)
		}
	}
	file := &install.AzureDNSCredentials{}
	if err := json.Unmarshal(raw, file); err != nil {
		return nil, errors.New("the credentials of ExternalDNS are no JSON object")
	}
	if file.WorkloadIdentity || file.ClientSecret == "" {
		return nil, nil
	}
	return file, nil
}

// checkZone finds a zone that is not there, or not for this principal, whose records would never appear. What may be Azure's or the
// network's mood is a warning.
func (i *installer) checkZone(ctx context.Context, options ...azure.Option) error {
	if i.opts.ExternalDNS.Provider != "azure" {
		return nil
	}
	file, err := i.readDNSCredentials(ctx)
	if err != nil || file == nil {
		return err
	}
	credentials := azure.Credentials{SubscriptionID: file.SubscriptionID, TenantID: file.TenantID, ClientID: file.ClientID, ClientSecret: file.ClientSecret}
	session, err := azure.NewSession(credentials, i.opts.ExtraEnv["AZURE_CLOUD_NAME"], options...)
	if err != nil {
		return fmt.Errorf("the credentials of ExternalDNS: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, preflightLimit)
	defer cancel()
	zone := i.opts.ExternalDNS.DomainFilter
	err = dns.FindZone(ctx, session, file.ResourceGroup, zone)
	switch {
	case err == nil:
		return nil
	case failure.IsNotFound(err):
		return fmt.Errorf("there is no DNS zone %s in resource group %s, or ExternalDNS may not see it; make it with `create dns azure`, or correct --external-dns-domain-filter: %w",
			zone, file.ResourceGroup, err)
	case ctx.Err() == nil && failure.KindOf(err) == failure.Terminal:
		return fmt.Errorf("ExternalDNS cannot read DNS zone %s with its credentials: %w", zone, err)
	}
	i.say("warning: cannot look at DNS zone %s: %v", zone, err)
	return nil
}
