package versionoperator

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	// prepare lays the payload out for the operator: $1 is where, $2 the set of features, the rest are the manifests that are left out.
	// ROOT is empty but in a test.
	prepare = `set -euo pipefail
payload=$1 set=$2
shift 2
cp -R "${ROOT:-}/manifests" "$payload/"
rm -f "$payload"/manifests/*_deployment.yaml "$payload"/manifests/*_servicemonitor.yaml
rm -f "$payload"/manifests/0000_50_cluster-update-console-plugin_*
cp -R "${ROOT:-}/release-manifests" "$payload/"
for file in "$payload"/manifests/*.yaml; do
  sets=$(sed -n 's|^ *"\{0,1\}release\.openshift\.io/feature-set"\{0,1\}: *"\{0,1\}\([^" ]*\)"\{0,1\} *$|\1|p' "$file" | head -n 1)
  case "$sets" in
  "") ;;
  *) case ",$sets," in *",$set,"*) ;; *) rm -f "$file" ;; esac ;;
  esac
done
for name; do rm -f "$payload/release-manifests/$name"; done
printf '%s\n' "$CLEANUP_MANIFEST" >"$payload/release-manifests/0000_01_cleanup.yaml"
`
	// bootstrap makes the guest ready for the operator: $1 is where the payload lies.
	bootstrap = `set -euo pipefail
until oc get namespaces >/dev/null; do sleep 1; done
for name in openshift-config openshift-config-managed; do
  oc get namespace "$name" >/dev/null 2>&1 || oc create namespace "$name"
done
for file in "$1"/manifests/0000_00_cluster-version-operator_01_clusterversions*; do oc apply -f "$file"; done
until printf '%s\n' "$CLUSTER_VERSION_JSON" | oc apply -f -; do sleep 1; done
until oc apply -f "$1/manifests"; do sleep 1; done
`
)

// omitted are the manifests of a release whose programs run outside of the guest, or do not run at all, by the beginning of their names.
var omitted = map[string][]string{
	"0000_50_olm_": {"00-pprof-config", "00-pprof-rbac", "00-pprof-secret", "00-packageserver.pdb", "01-olm-operator.serviceaccount", "02-services",
		"06-psm-operator.deployment", "06-psm-operator.deployment.ibm-cloud-managed", "06-psm-operator.service", "06-psm-operator.servicemonitor",
		"07-olm-operator.deployment", "07-olm-operator.deployment.ibm-cloud-managed", "07-collect-profiles.cronjob",
		"08-catalog-operator.deployment", "08-catalog-operator.deployment.ibm-cloud-managed", "15-packageserver.clusterserviceversion", "99-operatorstatus"},
	"0000_90_olm_": {"00-service-monitor"},
	"0000_50_operator-marketplace_": {"04_service_account", "05_role", "06_role_binding", "07_configmap", "08_service", "09_operator",
		"09_operator-ibm-cloud-managed", "10_clusteroperator", "11_service_monitor"},
	"0000_03_marketplace-operator_":                     {"02_operatorhub.cr"},
	"0000_70_dns-operator_":                             {"02-deployment-ibm-cloud-managed"},
	"0000_50_cluster-ingress-operator_":                 {"02-deployment-ibm-cloud-managed"},
	"0000_70_cluster-network-operator_":                 {"03_deployment-ibm-cloud-managed"},
	"0000_80_machine-config_01_":                        {"containerruntimeconfigs.crd", "kubeletconfigs.crd", "machineconfigs.crd", "machineconfigpools-Default.crd"},
	"0000_50_cluster-node-tuning-operator_":             {"20-performance-profile.crd", "50-operator-ibm-cloud-managed"},
	"0000_50_cluster-image-registry-operator_":          {"07-operator-ibm-cloud-managed", "07-operator-service"},
	"0000_90_cluster-image-registry-operator_":          {"02_operator-servicemonitor"},
	"0000_50_cluster-storage-operator_":                 {"10_deployment-ibm-cloud-managed"},
	"0000_50_cluster-csi-snapshot-controller-operator_": {"07_deployment-ibm-cloud-managed"},
	"0000_50_cloud-credential-operator_":                {"01-operator-config"},
	"0000_50_cluster-authentication-operator_":          {"02_config.cr"},
	"0000_90_etcd-operator_":                            {"03_prometheusrule"},
}

// removed are objects that earlier releases made in the guest and whose programs run outside of it now.
var removed = []struct{ version, kind, namespace, name string }{
	{"policy/v1", "PodDisruptionBudget", contract.LifecycleManagerNamespace, "packageserver-pdb"},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "machineconfigs.machineconfiguration.openshift.io"},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "machineconfigpools.machineconfiguration.openshift.io"},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "default-account-cluster-network-operator"},
	{"apps/v1", "Deployment", contract.NetworkOperatorNamespace, "network-operator"},
	{"apps/v1", "Deployment", contract.TuningNamespace, contract.TuningOperator},
	{"apps/v1", "Deployment", contract.RegistryNamespace, contract.RegistryOperator},
	{"apps/v1", "Deployment", "openshift-cluster-storage-operator", contract.StorageOperator},
	{"apps/v1", "Deployment", "openshift-cluster-storage-operator", contract.SnapshotOperator},
	{"apps/v1", "Deployment", "openshift-cluster-storage-operator", contract.SnapshotController},
	{"apps/v1", "Deployment", contract.DriverNamespace, "aws-ebs-csi-driver-operator"},
	{"apps/v1", "Deployment", contract.DriverNamespace, "aws-ebs-csi-driver-controller"},
	{"apps/v1", "Deployment", "openshift-kube-storage-version-migrator-operator", "kube-storage-version-migrator-operator"},
	{"apps/v1", "Deployment", "openshift-kube-storage-version-migrator", "migrator"},
}

// cleanupManifest asks the operator to delete what is removed. Its run level is below that of any ClusterOperator, which is waited for.
func cleanupManifest() (string, error) {
	var text strings.Builder
	for _, r := range removed {
		metadata := map[string]any{"name": r.name, "annotations": map[string]any{
			"include.release.openshift.io/" + profile: "true", "release.openshift.io/delete": "true"}}
		if r.namespace != "" {
			metadata["namespace"] = r.namespace
		}
		one, err := yaml.Marshal(map[string]any{"apiVersion": r.version, "kind": r.kind, "metadata": metadata})
		if err != nil {
			return "", fmt.Errorf("render the manifest that deletes %s %s: %w", r.kind, r.name, err)
		}
		text.WriteString("---\n")
		text.Write(one)
	}
	return text.String(), nil
}
