package twin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	versionOwner = "twin-cluster-version-operator"
	// between passes nothing happens but that somebody changed something.
	pause = 10 * time.Second
	// Said is how every status that a checker writes begins.
	Said = "twin: "
)

// checked are ClusterOperators whose operators are checkers, or run on nodes; the others of a hosted cluster are the config operator's.
var checked = []string{"console", "csi-snapshot-controller", "dns", "image-registry", "ingress", "insights", "kube-storage-version-migrator", "monitoring", "network",
	"node-tuning", "operator-lifecycle-manager", "operator-lifecycle-manager-catalog", "service-ca", "storage"}

// versionOperator applies the payload that was laid out for the version operator, and says so.
type versionOperator struct {
	client         client.Client
	image, payload string
}

// operateVersion does so until ctx ends.
func operateVersion(ctx context.Context, kubeconfig, image, payload string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := configv1.Install(scheme); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	v := versionOperator{client: c, image: image, payload: payload}
	for {
		if err := v.pass(ctx); err != nil {
			slog.Error("twin: the version is not rolled out yet", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (v versionOperator) pass(ctx context.Context) error {
	release, objects, err := readPayload(v.payload)
	if err != nil {
		return err
	}
	if err := v.report(ctx, release, false); err != nil {
		return err
	}
	var failed []error
	for _, obj := range objects {
		if err := v.apply(ctx, obj); err != nil {
			failed = append(failed, fmt.Errorf("%s %s/%s: %w", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err))
		}
	}
	for _, name := range checked {
		failed = append(failed, v.operator(ctx, name, release))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return v.report(ctx, release, true)
}

// readPayload reads all that prepare-payload has left, in the order of the files' names, and refuses what it should have taken away.
func readPayload(folder string) (release string, objects []*unstructured.Unstructured, err error) {
	raw, err := os.ReadFile(filepath.Join(folder, "release-manifests", "image-references"))
	if err != nil {
		return "", nil, fmt.Errorf("twin: payload: %w", err)
	}
	var stream struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &stream); err != nil || stream.Metadata.Name == "" {
		return "", nil, fmt.Errorf("twin: payload: image-references names no version: %w", err)
	}
	cleaned := false
	for _, of := range []string{"manifests", "release-manifests"} {
		entries, err := os.ReadDir(filepath.Join(folder, of))
		if err != nil {
			return "", nil, fmt.Errorf("twin: payload: %w", err)
		}
		for _, e := range entries {
			cleaned = cleaned || e.Name() == "0000_01_cleanup.yaml"
			if filepath.Ext(e.Name()) != ".yaml" {
				continue
			}
			if why := forbidden(of, e.Name()); why != "" {
				return "", nil, fmt.Errorf("twin: payload: %s/%s is there, which %s", of, e.Name(), why)
			}
			found, err := readManifests(filepath.Join(folder, of, e.Name()))
			if err != nil {
				return "", nil, err
			}
			objects = append(objects, found...)
		}
	}
	if !cleaned {
		return "", nil, errors.New("twin: payload: there is no release-manifests/0000_01_cleanup.yaml")
	}
	return stream.Metadata.Name, objects, nil
}

// forbidden tells why a hosted cluster's version operator is not given a manifest, "" for all others.
func forbidden(folder, name string) string {
	switch {
	case folder == "manifests" && (strings.HasSuffix(name, "_deployment.yaml") || strings.HasSuffix(name, "_servicemonitor.yaml") ||
		strings.HasPrefix(name, "0000_50_cluster-update-console-plugin_")):
		return "is of the operator where it runs in its cluster"
	case folder == "release-manifests" && slices.Contains(Omitted(), name):
		return "hosted clusters leave out"
	}
	return ""
}

// Omitted are the manifests of a release that hosted clusters leave out; the image of the checker has them.
func Omitted() []string {
	raw, err := os.ReadFile(filepath.Join(shareDir, "omitted.txt"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw))
}

func readManifests(path string) ([]*unstructured.Unstructured, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("twin: payload: %w", err)
	}
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if err != nil && err.Error() == "EOF" {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("twin: payload: %s: %w", path, err)
		}
		if len(obj.Object) == 0 {
			continue
		}
		if obj.GetKind() == "" || obj.GetAPIVersion() == "" || obj.GetName() == "" {
			if path := filepath.Base(path); path == "0000_50_installer_coreos-bootimages.yaml" {
				continue
			}
			return nil, fmt.Errorf("twin: payload: %s has an object without kind or name", path)
		}
		out = append(out, obj)
	}
}

// apply does with a manifest what its annotations say.
func (v versionOperator) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	annotations := obj.GetAnnotations()
	if sets := annotations[setAnnotation]; annotations[profileAnnotation] != "true" || sets != "" && !slices.Contains(strings.Split(sets, ","), "Default") {
		return nil
	}
	obj = obj.DeepCopy()
	if annotations["release.openshift.io/delete"] == "true" {
		err := v.client.Delete(ctx, obj)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		return err
	}
	if annotations["release.openshift.io/create-only"] == "true" {
		err := v.client.Create(ctx, obj)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	return v.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(versionOwner), client.ForceOwnership)
}

// operator says of an operator that it is a checker.
func (v versionOperator) operator(ctx context.Context, name, release string) error {
	o := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := v.client.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		err = v.client.Create(ctx, o)
	}
	if err != nil {
		return err
	}
	before := o.DeepCopy()
	o.Status.Versions = []configv1.OperandVersion{{Name: "operator", Version: release}}
	for kind, status := range map[configv1.ClusterStatusConditionType]configv1.ConditionStatus{configv1.OperatorAvailable: configv1.ConditionTrue,
		configv1.OperatorProgressing: configv1.ConditionFalse, configv1.OperatorDegraded: configv1.ConditionFalse, configv1.OperatorUpgradeable: configv1.ConditionTrue} {
		set(&o.Status.Conditions, kind, status, "Checker", Said+"no operator works here; a checker stands where it would")
	}
	return v.writeStatus(ctx, o, before)
}

// set changes a condition, and the time of its change with its status.
func set(conditions *[]configv1.ClusterOperatorStatusCondition, kind configv1.ClusterStatusConditionType, status configv1.ConditionStatus, reason, message string) {
	want := configv1.ClusterOperatorStatusCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
	i := slices.IndexFunc(*conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == kind })
	if i < 0 {
		*conditions = append(*conditions, want)
		return
	}
	if (*conditions)[i].Status == status {
		want.LastTransitionTime = (*conditions)[i].LastTransitionTime
	}
	(*conditions)[i] = want
}

// writeStatus writes the whole status, which has members that must be there and may be null, unless it is as it was.
func (v versionOperator) writeStatus(ctx context.Context, obj, before client.Object) error {
	if equality.Semantic.DeepEqual(obj, before) {
		return nil
	}
	return v.client.Status().Update(ctx, obj)
}

// report writes the status of the ClusterVersion: another release begins, and is completed once all of the payload is applied.
func (v versionOperator) report(ctx context.Context, release string, done bool) error {
	version := &configv1.ClusterVersion{}
	if err := v.client.Get(ctx, client.ObjectKey{Name: "version"}, version); err != nil {
		return err
	}
	before := version.DeepCopy()
	s, now := &version.Status, metav1.Now()
	s.Desired, s.ObservedGeneration, s.VersionHash = configv1.Release{Version: release, Image: v.image}, version.Generation, "twin"
	s.Capabilities.EnabledCapabilities, s.AvailableUpdates = nil, []configv1.Release{}
	if c := version.Spec.Capabilities; c != nil {
		s.Capabilities.EnabledCapabilities = c.AdditionalEnabledCapabilities
	}
	s.Capabilities.KnownCapabilities = configv1.KnownClusterVersionCapabilities
	if len(s.History) == 0 || s.History[0].Image != v.image {
		if len(s.History) > 0 && s.History[0].CompletionTime == nil {
			s.History[0].CompletionTime = &now
		}
		s.History = append([]configv1.UpdateHistory{{State: configv1.PartialUpdate, StartedTime: now, Version: release, Image: v.image}}, s.History...)
	}
	if newest := &s.History[0]; done && newest.State == configv1.PartialUpdate {
		newest.State, newest.CompletionTime = configv1.CompletedUpdate, &now
	}
	completed := slices.IndexFunc(s.History, func(h configv1.UpdateHistory) bool { return h.State == configv1.CompletedUpdate })
	truth := map[bool]configv1.ConditionStatus{true: configv1.ConditionTrue, false: configv1.ConditionFalse}
	rolling := s.History[0].State != configv1.CompletedUpdate
	set(&s.Conditions, configv1.OperatorAvailable, truth[completed >= 0], "", Said+"the checker of the version operator has applied what it was given of a release")
	set(&s.Conditions, "Failing", configv1.ConditionFalse, "", "")
	set(&s.Conditions, configv1.OperatorProgressing, truth[rolling], "", fmt.Sprintf("%sthe checker of the version operator is at %s", Said, release))
	set(&s.Conditions, "ReleaseAccepted", configv1.ConditionTrue, "PayloadLoaded", fmt.Sprintf("Payload loaded version=%q image=%q", release, v.image))
	set(&s.Conditions, configv1.RetrievedUpdates, configv1.ConditionFalse, "NoChannel", Said+"nobody is asked for updates")
	return v.writeStatus(ctx, version, before)
}
