package metrics

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/metrics/series"
)

// Labels and annotations that only metrics read.
const (
	limitedSupportLabel      = "api.openshift.com/limited-support"
	silenceAlertsLabel       = "hypershift.openshift.io/silence-cluster-alerts"
	sizeOverrideAnnotation   = "hypershift.openshift.io/cluster-size-override"
	managedAzureResourceType = "hcpOpenShiftClusters"
)

var (
	hostedClusters = newGauge(series.Telemetry, "hypershift_hostedclusters", "Number of hosted clusters.", "platform")
	clusterFailed  = newGauge(series.Telemetry, "hypershift_hostedclusters_failure_conditions",
		"Number of hosted clusters with this condition not as it should be; one that should be False has the prefix not_.", "platform", "condition")

	waitingAvailability = clusterGauge(series.Telemetry, "hypershift_cluster_waiting_initial_availability_duration_seconds",
		"Time since the hosted cluster was created, until it is available for the first time.")
	clusterAvailable = clusterGauge(series.Telemetry, "hypershift_cluster_available", "1 while the hosted cluster is available, else 0.", "platform")
	rollingOut       = clusterGauge(series.Telemetry, "hypershift_cluster_initial_rolling_out_duration_seconds",
		"Time since the hosted cluster was created, until its first version is rolled out completely.")
	upgrading = clusterGauge(series.Telemetry, "hypershift_cluster_upgrading_duration_seconds",
		"Time since the running upgrade began; absent without one.", "previous_version", "new_version")
	clusterDeleting = clusterGauge(series.Telemetry, "hypershift_cluster_deleting_duration_seconds",
		"Time since the deletion of the hosted cluster was asked for, while it goes on.")
	cloudDeleting = clusterGauge(series.Telemetry, "hypershift_cluster_guest_cloud_resources_deleting_duration_seconds",
		"Time since the deletion was asked for, while what the hosted cluster made in the cloud is being removed.")

	limitedSupport = clusterGauge(series.Telemetry, "hypershift_cluster_limited_support_enabled", "1 when label "+limitedSupportLabel+" is true, else 0.")
	silenceAlerts  = clusterGauge(series.Telemetry, "hypershift_cluster_silence_alerts", "1 when label "+silenceAlertsLabel+" is set, else 0.")
	proxied        = clusterGauge(series.Telemetry, "hypershift_cluster_proxy", "1 when the hosted cluster is configured with a proxy, else 0.")
	proxyCAValid   = clusterGauge(series.Telemetry, "hypershift_cluster_proxy_ca_valid", "1 when every certificate of the proxy's CA bundle can be read, else 0; absent without a bundle.")
	proxyCAExpiry  = clusterGauge(series.Telemetry, "hypershift_cluster_proxy_ca_expiry_timestamp",
		"Unix time in seconds at which the first certificate of the proxy's CA bundle expires; absent without a readable bundle.")
	identityProviders = clusterGauge(series.Telemetry, "hypershift_cluster_identity_providers", "Number of identity providers of a type.", "identity_provider")
	etcdManual        = clusterGauge(series.Telemetry, "hypershift_etcd_manual_intervention_required", "1 when the repair of etcd failed and somebody has to look, else 0: reason EtcdRecoveryJobFailed of condition EtcdRecoveryActive.")
	lastBackup        = clusterGauge(series.Telemetry, "hypershift_cluster_etcd_backup_last_success_timestamp_seconds", "Unix time in seconds at which the newest successful HCPEtcdBackup of the hosted cluster ended; absent without one.")
	backupFailed      = clusterGauge(series.Telemetry, "hypershift_cluster_etcd_backup_failed",
		"1 when the newest HCPEtcdBackup of the hosted cluster has failed, else 0; absent where none is asked for.")
	sizeOverride = clusterGauge(series.SRE, "hypershift_cluster_size_override_instances", "1 when annotation "+sizeOverrideAnnotation+" sets the size of the hosted cluster, else 0.")

	encryptionState = clusterGauge(series.SRE, "hypershift_encryption_migration_state", "1 for the state of the last change of the key that encrypts Secrets.", "state")

	acrPull = clusterGauge(series.SRE, "hypershift_cluster_acr_pull_identity_configured",
		"1 when nodes pull from Azure container registries with an identity of their own, else 0; absent on other platforms.")
	azureInfo = clusterGauge(series.Telemetry, "hosted_cluster_azure_info", "Always 1; the labels say where in Azure the hosted cluster is.",
		"location", "subscription", "resource_group")
	managedAzureInfo = clusterGauge(series.Telemetry, "hosted_cluster_managed_azure_info", "Always 1; the labels name the resource of the managed service that stands for the hosted cluster.",
		"resource_type", "resource_id")

	clusterPools = clusterGauge(series.Telemetry, "hypershift_hostedcluster_nodepools", "Number of node pools of the hosted cluster.", "platform")
	vcpus        = clusterGauge(series.Telemetry, "hypershift_cluster_vcpus", "Virtual CPUs of all nodes of the hosted cluster; -1 when they cannot be counted.", "platform")
	vcpusError   = clusterGauge(series.SRE, "hypershift_cluster_vcpus_computation_error", "1 when the virtual CPUs cannot be counted, with the reason.", "reason")
)

// cluster is one hosted cluster at the time of a scrape.
type cluster struct {
	*hyperv1.HostedCluster
	pools []*hyperv1.NodePool
	// backups: the management cluster has HCPEtcdBackup.
	backups bool
	now     time.Time
	to      chan<- prometheus.Metric
}

func (c *cluster) send(g gauge, value float64, more ...string) {
	g.send(c.to, value, slices.Concat([]string{c.Namespace, c.Name, c.Spec.ClusterID}, more)...)
}

func (c *cluster) since(t time.Time) float64 { return c.now.Sub(t).Seconds() }

func (c *cluster) collect(ctx context.Context, reader client.Reader) {
	if c.DeletionTimestamp.IsZero() {
		c.progress()
	} else {
		c.deletion()
	}
	c.send(clusterAvailable, boolean(kube.IsTrue(c.Status.Conditions, hyperv1.HostedClusterAvailable)), c.platform())
	c.flags()
	c.proxy(ctx, reader)
	for _, provider := range providersOf(c.HostedCluster) {
		c.send(identityProviders, float64(provider.count), provider.kind)
	}
	if encryption := c.Status.SecretEncryption; encryption != nil && len(encryption.History) > 0 {
		c.send(encryptionState, 1, encryption.History[0].State)
	}
	c.backup(ctx, reader)
	c.azure()
	c.send(clusterPools, float64(len(c.pools)), c.platform())
	c.countVCPUs()
}

func (c *cluster) platform() string { return string(c.Spec.Platform.Type) }

// progress tells how long what is going on has taken.
func (c *cluster) progress() {
	if !HasBeenAvailable(c.HostedCluster) {
		c.send(waitingAvailability, c.since(c.CreationTimestamp.Time))
	}
	var history []hyperv1.UpdateHistory
	if c.Status.Version != nil {
		history = c.Status.Version.History
	}
	completed := slices.IndexFunc(history, func(h hyperv1.UpdateHistory) bool { return h.State == hyperv1.CompletedUpdate })
	switch {
	case completed < 0:
		c.send(rollingOut, c.since(c.CreationTimestamp.Time))
	case completed > 0:
		c.send(upgrading, c.since(history[0].StartedTime.Time), history[completed].Version, history[0].Version)
	}
}

func (c *cluster) deletion() {
	c.send(clusterDeleting, c.since(c.DeletionTimestamp.Time))
	cleans := c.Annotations[hyperv1.CleanupCloudResourcesAnnotation] == "true"
	if cleans && !kube.IsTrue(c.Status.Conditions, hyperv1.CloudResourcesDestroyed) {
		c.send(cloudDeleting, c.since(c.DeletionTimestamp.Time))
	}
}

func (c *cluster) flags() {
	_, silenced := c.Labels[silenceAlertsLabel]
	_, sized := c.Annotations[sizeOverrideAnnotation]
	recovery := kube.Find(c.Status.Conditions, hyperv1.EtcdRecoveryActive)
	c.send(limitedSupport, boolean(c.Labels[limitedSupportLabel] == "true"))
	c.send(silenceAlerts, boolean(silenced))
	c.send(sizeOverride, boolean(sized))
	c.send(etcdManual, boolean(recovery != nil && recovery.Reason == hyperv1.EtcdRecoveryJobFailedReason))
}

func (c *cluster) proxy(ctx context.Context, reader client.Reader) {
	var proxy *hyperv1.ProxySpec
	if c.Spec.Configuration != nil {
		proxy = c.Spec.Configuration.Proxy
	}
	c.send(proxied, boolean(proxy != nil && (proxy.HTTPProxy != "" || proxy.HTTPSProxy != "")))
	if proxy == nil || proxy.TrustedCA == nil || proxy.TrustedCA.Name == "" {
		return
	}
	bundle := &corev1.ConfigMap{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: proxy.TrustedCA.Name}, bundle)
	var expiry time.Time
	if err == nil {
		expiry, err = firstExpiry([]byte(bundle.Data[hyperv1.TrustBundleKey]))
	}
	c.send(proxyCAValid, boolean(err == nil))
	if err == nil {
		c.send(proxyCAExpiry, float64(expiry.Unix()))
	}
}

// firstExpiry is when the first certificate of a PEM bundle expires. A bundle without a certificate is an error.
func firstExpiry(bundle []byte) (time.Time, error) {
	var first time.Time
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return first, fmt.Errorf("a certificate of the bundle is malformed: %w", err)
		}
		if first.IsZero() || certificate.NotAfter.Before(first) {
			first = certificate.NotAfter
		}
	}
	if first.IsZero() {
		return first, fmt.Errorf("the bundle has no certificate in PEM form")
	}
	return first, nil
}

// backup tells when etcd was saved last. What cannot be read is left out.
func (c *cluster) backup(ctx context.Context, reader client.Reader) {
	if !c.backups {
		return
	}
	if told := kube.Find(c.Status.Conditions, hyperv1.EtcdBackupSucceeded); told != nil {
		c.send(backupFailed, boolean(told.Status == metav1.ConditionFalse && told.Reason == hyperv1.BackupFailedReason))
	}
	list := &hyperv1.HCPEtcdBackupList{}
	inside := client.InNamespace(contract.ControlPlaneNamespace(c.Namespace, c.Name))
	if err := reader.List(ctx, list, inside, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	var last time.Time
	for i := range list.Items {
		done := kube.Find(list.Items[i].Status.Conditions, hyperv1.BackupCompleted)
		if done != nil && done.Status == metav1.ConditionTrue && done.LastTransitionTime.After(last) {
			last = done.LastTransitionTime.Time
		}
	}
	if !last.IsZero() {
		c.send(lastBackup, float64(last.Unix()))
	}
}

type providerCount struct {
	kind  string
	count int
}

// providersOf counts the identity providers by type; the API server knows nine types.
func providersOf(hc *hyperv1.HostedCluster) []providerCount {
	if hc.Spec.Configuration == nil || hc.Spec.Configuration.OAuth == nil {
		return nil
	}
	var oauth struct {
		IdentityProviders []struct{ Type string }
	}
	if err := json.Unmarshal(hc.Spec.Configuration.OAuth.Raw, &oauth); err != nil {
		return nil
	}
	counts := map[string]int{}
	for _, provider := range oauth.IdentityProviders {
		counts[provider.Type]++
	}
	var all []providerCount
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, providerCount{kind, counts[kind]})
	}
	return all
}

func (c *cluster) azure() {
	azure := c.Spec.Platform.Azure
	if azure == nil {
		return
	}
	pulls := azure.ContainerRegistry != nil && azure.ContainerRegistry.Credentials != nil
	c.send(acrPull, boolean(pulls))
	c.send(azureInfo, 1, azure.Location, azure.SubscriptionID, azure.ResourceGroupName)
	if id := c.Annotations[hyperv1.AzureMachineIdentityAnnotation]; id != "" {
		c.send(managedAzureInfo, 1, managedAzureResourceType, id)
	}
}

func (c *cluster) countVCPUs() {
	total := 0
	for _, pool := range c.pools {
		count, reason := poolVCPUs(pool)
		if reason != "" {
			c.send(vcpus, -1, c.platform())
			c.send(vcpusError, 1, reason)
			return
		}
		total += count
	}
	c.send(vcpus, float64(total), c.platform())
}

// HasBeenAvailable tells whether the hosted cluster was available at some time; the annotation remembers it over an outage.
func HasBeenAvailable(hc *hyperv1.HostedCluster) bool {
	return hc.Annotations[hyperv1.HasBeenAvailableAnnotation] == "true" || kube.IsTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable)
}
