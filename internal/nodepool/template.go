package nodepool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/ignition"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/machinetags"
	"github.com/hypershift-on-azure/hypershift/internal/nodepool/names"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// throwAwaySSHKey satisfies Azure, which wants a key on every Linux machine; nobody has its private half. Logins use the key of
// the machine configuration. The provider expects base64 of an authorized_keys line.
const throwAwaySSHKey = "c3NoLXJzYSBBQUFBQjNOemFDMXljMkVBQUFBREFRQUJBQUFCQVFDOHRtVi9aMCs3NGN1UmdsWmpiKzlhOEZzN0FJVXI3RzFIczBWc0orSGp0K0k5L3o0YVpJYkNETDRuUVZ0TlBQWk5kdUYvc0RHWUlXUXJCM3RSckNrek9iSzY2bDIrRUhaNlpuWmNuWHl2VVoyQWdQTlhUWXdCOWNGbGZwNlI0MGhDZURZc2h4RHlUWUcwU0tzQmxISVZrbmpQNHBZbU5QckhHTThyTDR0TTB0V09KU285NmFEcFVjckRnZ1JDaXlDcmIvY3NHRWc2cGM1em9ZbGNObWVFa2hiSjNNTFAvUXdsZUJacFdCTVM2Sng5MFlYcjQ3UDRtdHMrOGdDdjR5NzN1ZFJ4aTN3Vm43T1VKVWl1K0JTZWplU0Z2bEhmc2dGYVVYQWZmNHJiSVZubEo3cGRaZXlkd3dkYVVnV3N2eTVHVUV1SkljWDhYb3loY05FK1hMbkY="

// machineImage is the image of a machine as the provider takes it.
func machineImage(np *hyperv1.NodePool, payload *release.Release) (map[string]any, error) {
	image := np.Spec.Platform.Azure.Image
	if image.Type == hyperv1.AzureImageID {
		if image.ImageID == nil || *image.ImageID == "" {
			return nil, fmt.Errorf("spec.platform.azure.image.imageID is empty; set it, or use type AzureMarketplace")
		}
		return map[string]any{"id": *image.ImageID}, nil
	}
	if given := image.AzureMarketplace; given != nil && given.Publisher != "" {
		plan, err := purchasePlan(np)
		if err != nil {
			return nil, err
		}
		return marketplace(release.MarketplaceImage{Publisher: given.Publisher, Offer: given.Offer, SKU: given.SKU, Version: given.Version}, plan), nil
	}
	found, err := defaultImage(np, payload)
	if err != nil {
		return nil, err
	}
	return marketplace(*found, false), nil
}

// marketplace is an image as the provider takes it, which names the plan to Azure for one that it calls of a third party.
func marketplace(image release.MarketplaceImage, plan bool) map[string]any {
	out := map[string]any{"publisher": image.Publisher, "offer": image.Offer, "sku": image.SKU, "version": image.Version}
	if plan {
		out["thirdPartyImage"] = true
	}
	return map[string]any{"marketplace": out}
}

// purchasePlan tells whether the image that the pool names has a plan, which the API has no field for.
func purchasePlan(np *hyperv1.NodePool) (bool, error) {
	text, given := np.Annotations[hyperv1.AzureImagePlanAnnotation]
	if !given {
		return false, nil
	}
	plan, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("annotation %s is %q; use true where the image has a purchase plan, or remove it", hyperv1.AzureImagePlanAnnotation, text)
	}
	return plan, nil
}

// defaultImage follows the payload; the choice is not written back, so an upgrade gets the next payload's.
func defaultImage(np *hyperv1.NodePool, payload *release.Release) (*release.MarketplaceImage, error) {
	const remedy = "set publisher, offer, sku and version in spec.platform.azure.image.azureMarketplace"
	generation, arch := "Gen2", cmp.Or(np.Spec.Arch, "amd64")
	if given := np.Spec.Platform.Azure.Image.AzureMarketplace; given != nil && given.ImageGeneration != "" {
		generation = given.ImageGeneration
	}
	if found := payload.MachineImage(arch, generation == "Gen1"); found != nil {
		return found, nil
	}
	named, err := release.AtLeast(payload.Version, 4, 20)
	switch {
	case err != nil:
		return nil, err
	case !named:
		return nil, fmt.Errorf("release %s names no machine image for Azure; %s", payload.Version, remedy)
	case payload.Stream("") == nil:
		return nil, fmt.Errorf("release %s carries no stream metadata; the payload is broken", payload.Version)
	}
	return nil, fmt.Errorf("release %s has no marketplace image for architecture %s, generation %s; %s", payload.Version, arch, generation, remedy)
}

// templateSpec is the machine of a pool.
func templateSpec(np *hyperv1.NodePool, hc *hyperv1.HostedCluster, image map[string]any) map[string]any {
	azure := np.Spec.Platform.Azure
	spec := map[string]any{
		"vmSize":                     azure.VMSize,
		"image":                      image,
		"identity":                   "None",
		"sshPublicKey":               throwAwaySSHKey,
		"disableExtensionOperations": true,
		"osDisk":                     osDisk(azure.OSDisk),
		"networkInterfaces":          []any{map[string]any{"subnetName": path.Base(azure.SubnetID)}},
	}
	if azure.AvailabilityZone != "" {
		spec["failureDomain"] = azure.AvailabilityZone
	}
	if azure.EncryptionAtHost == "Enabled" {
		spec["securityProfile"] = map[string]any{"encryptionAtHost": true}
	}
	if boot := diagnostics(azure.Diagnostics); boot != nil {
		spec["diagnostics"] = map[string]any{"boot": boot}
	}
	if identity := registryIdentity(hc); identity != "" {
		spec["identity"] = "UserAssigned"
		spec["userAssignedIdentities"] = []any{map[string]any{"providerID": "azure:///" + strings.TrimPrefix(identity, "/")}}
	}
	return spec
}

func osDisk(disk hyperv1.AzureNodePoolOSDisk) map[string]any {
	managed := map[string]any{}
	if disk.DiskStorageAccountType != "" {
		managed["storageAccountType"] = disk.DiskStorageAccountType
	}
	if disk.EncryptionSetID != "" {
		managed["diskEncryptionSet"] = map[string]any{"id": disk.EncryptionSetID}
	}
	out := map[string]any{"osType": "Linux", "cachingType": "None", "managedDisk": managed}
	if disk.SizeGiB > 0 {
		out["diskSizeGB"] = int64(disk.SizeGiB)
	}
	if disk.Persistence == "Ephemeral" {
		out["cachingType"] = "ReadOnly"
		out["diffDiskSettings"] = map[string]any{"option": "Local"}
	}
	return out
}

func diagnostics(wanted *hyperv1.AzureDiagnostics) map[string]any {
	if wanted == nil || wanted.StorageAccountType == "" {
		return nil
	}
	boot := map[string]any{"storageAccountType": wanted.StorageAccountType}
	if wanted.UserManaged != nil {
		boot["userManaged"] = map[string]any{"storageAccountURI": wanted.UserManaged.StorageAccountURI}
	}
	return boot
}

func registryIdentity(hc *hyperv1.HostedCluster) string {
	azure := hc.Spec.Platform.Azure
	if azure == nil || azure.ContainerRegistry == nil || azure.ContainerRegistry.Credentials == nil ||
		azure.ContainerRegistry.Credentials.ManagedIdentity == nil {
		return ""
	}
	return azure.ContainerRegistry.Credentials.ManagedIdentity.ResourceID
}

// azureMachineTemplate is the template of the pool's target. Its name follows from everything but the tags: other tags are no reason for
// other machines.
func azureMachineTemplate(p *pass, image map[string]any) (*unstructured.Unstructured, error) {
	machine := templateSpec(p.np, p.hc, image)
	spec := map[string]any{"template": map[string]any{"spec": machine}}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the machine template: %w", err)
	}
	tags, err := machinetags.Of(p.np, p.hc)
	if err != nil {
		return nil, err
	}
	if len(tags) > 0 {
		machine["additionalTags"] = tags
	}
	template := clusterapi.New(clusterapi.AzureMachineTemplate, p.namespace, names.Shorten(p.np.Name, ignition.HashBytes(encoded)))
	template.SetLabels(map[string]string{contract.ClusterNameLabel: p.hc.Spec.InfraID})
	template.SetAnnotations(map[string]string{hyperv1.NodePoolAnnotation: names.Reference(p.np)})
	template.Object["spec"] = spec
	return template, nil
}

// machineTemplate creates the template of the target; templates are never changed, a new content is a new name. Only the tags of one change
// under its name: then another takes its place, and the machines that there are get the tags, too.
func (r *Reconciler) machineTemplate(ctx context.Context, p *pass) error {
	if p.np.Spec.Platform.Type != hyperv1.AzurePlatform || p.np.Spec.Platform.Azure == nil {
		return nil
	}
	image, err := machineImage(p.np, p.release)
	if err != nil {
		p.set(hyperv1.NodePoolValidPlatformImage, corev1.ConditionFalse, hyperv1.ValidationFailedReason, err.Error())
		return err
	}
	p.remove(hyperv1.NodePoolValidPlatformImage)
	template, err := azureMachineTemplate(p, image)
	if err != nil {
		return err
	}
	live := clusterapi.New(clusterapi.AzureMachineTemplate, p.namespace, template.GetName())
	err = r.client.Get(ctx, client.ObjectKeyFromObject(live), live)
	if err == nil && !machinetags.Same(live, template) {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, live, client.Preconditions{UID: ptr.To(live.GetUID())})); err != nil {
			return fmt.Errorf("delete AzureMachineTemplate %s, whose tags are others now: %w", live.GetName(), err)
		}
		err = r.createTemplate(ctx, p, template)
	} else if apierrors.IsNotFound(err) {
		if err = r.createTemplate(ctx, p, template); apierrors.IsAlreadyExists(err) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("create AzureMachineTemplate %s: %w", template.GetName(), err)
	}
	p.template = template.GetName()
	p.updating(hyperv1.NodePoolUpdatingPlatformMachineTemplate, p.np.Annotations[hyperv1.NodePoolPlatformMachineTemplateAnnotation] != p.template,
		"platform machine template update in progress. Target template: "+p.template)
	return nil
}

// createTemplate tags the pool's machines first: a template with the tags says that this is done.
func (r *Reconciler) createTemplate(ctx context.Context, p *pass, template *unstructured.Unstructured) error {
	tags, err := machinetags.Of(p.np, p.hc)
	if err != nil {
		return err
	}
	if err := machinetags.Write(ctx, r.client, r.live, p.namespace, p.machines, tags); err != nil {
		return err
	}
	return r.client.Create(ctx, template)
}

// sweepTemplates deletes the pool's other templates.
func (r *Reconciler) sweepTemplates(ctx context.Context, p *pass) error {
	templates, err := poolObjects(ctx, r.client, p, clusterapi.AzureMachineTemplate)
	if err != nil {
		return err
	}
	for i := range templates {
		if templates[i].GetName() == p.template {
			continue
		}
		if err := kube.DeleteIfExists(ctx, r.client, &templates[i]); err != nil {
			return err
		}
	}
	return nil
}

// poolObjects lists the objects of a kind that carry the pool's annotation.
func poolObjects(ctx context.Context, from client.Reader, p *pass, gvk schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	list := clusterapi.NewList(gvk)
	if err := from.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return nil, fmt.Errorf("list %s objects: %w", gvk.Kind, err)
	}
	var out []unstructured.Unstructured
	for _, item := range list.Items {
		if item.GetAnnotations()[hyperv1.NodePoolAnnotation] == names.Reference(p.np) {
			out = append(out, item)
		}
	}
	return out, nil
}
