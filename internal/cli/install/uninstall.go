package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/install"
)

// NewUninstallCommand is uninstall.
func NewUninstallCommand() *cobra.Command {
	var u uninstaller
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what install made from the management cluster",
		Long: `Removes the operator, and all else that install made, from the management cluster. It refuses while hosted clusters exist: without
the operator nobody would take them down. The definitions of the kinds stay unless --delete-crds is given, and then they must be
empty. What others made is left alone. Running it again is harmless.`,
		Example: `  hypershift uninstall --dry-run
  hypershift uninstall --delete-crds`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newInstallClient()
			if err != nil {
				return err
			}
			u.client, u.out, u.say = c, cmd.OutOrStdout(), progress.Line(cmd)
			return u.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&u.namespace, "namespace", "n", "hypershift", "namespace of the operator")
	flags.BoolVar(&u.deleteCRDs, "delete-crds", false, "delete the definitions of the kinds, too; no object of them may exist")
	flags.BoolVar(&u.dryRun, "dry-run", false, "say what would be deleted, and delete nothing")
	flags.DurationVar(&u.patience, "timeout", installWait, "how long to wait until all is gone")
	return cmd
}

// uninstaller takes an installation away; it can be run again and again.
type uninstaller struct {
	namespace          string
	deleteCRDs, dryRun bool

	client   client.Client
	patience time.Duration
	out      io.Writer
	say      func(format string, args ...any)
}

// run looks at everything before it deletes anything.
func (u *uninstaller) run(ctx context.Context) error {
	if err := u.refuseWhileInUse(ctx); err != nil {
		return err
	}
	everything := install.Everything(u.namespace)
	crds, err := everything.CRDs()
	if err != nil {
		return err
	}
	// What was applied last goes first; what the operator makes anew as long as it runs, after it; the definitions at last.
	objects := everything.Objects()
	slices.Reverse(objects)
	phases := []phase{{objects: objects}, {objects: install.OperatorMade(u.namespace), byOperator: true}}
	if u.deleteCRDs {
		if err := u.refuseFullCRDs(ctx, crds); err != nil {
			return err
		}
		var definitions []client.Object
		for _, crd := range crds {
			definitions = append(definitions, crd)
		}
		phases = append(phases, phase{objects: definitions})
	}
	deleted := 0
	for _, p := range phases {
		n, err := u.finish(ctx, p)
		if err != nil {
			return err
		}
		deleted += n
	}
	if deleted == 0 {
		u.say("nothing of an installation in namespace %s is there", u.namespace)
	}
	return nil
}

// phase is what goes together.
type phase struct {
	objects []client.Object
	// byOperator: install's name is not on them.
	byOperator bool
}

func (u *uninstaller) finish(ctx context.Context, p phase) (int, error) {
	found, err := u.find(ctx, p)
	if err != nil {
		return 0, err
	}
	if err := u.delete(ctx, found); err != nil {
		return 0, err
	}
	if u.dryRun || len(found) == 0 {
		return len(found), nil
	}
	return len(found), u.waitUntilGone(ctx, found)
}

// refuseWhileInUse names the hosted clusters.
func (u *uninstaller) refuseWhileInUse(ctx context.Context) error {
	var names []string
	for _, kind := range []string{"HostedCluster", "HostedControlPlane"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "hypershift.openshift.io", Version: "v1beta1", Kind: kind + "List"})
		err := u.client.List(ctx, list)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot list the %ss: %w", kind, err)
		}
		for _, item := range list.Items {
			names = append(names, kind+" "+item.Namespace+"/"+item.Name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("hosted clusters exist, which nobody could take down without the operator: %s; destroy them first, with `hypershift destroy cluster azure`",
			strings.Join(names, ", "))
	}
	return nil
}

// refuseFullCRDs: deleting a definition deletes all objects of its kind.
func (u *uninstaller) refuseFullCRDs(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition) error {
	var full []string
	for _, crd := range crds {
		list := &metav1.PartialObjectMetadataList{}
		for _, version := range crd.Spec.Versions {
			if version.Storage {
				list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.ListKind})
			}
		}
		err := u.client.List(ctx, list, client.Limit(1))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot tell whether objects of %s exist: %w", crd.Name, err)
		}
		if len(list.Items) > 0 {
			full = append(full, fmt.Sprintf("%s (%s/%s)", crd.Name, list.Items[0].Namespace, list.Items[0].Name))
		}
	}
	if len(full) > 0 {
		return fmt.Errorf("--delete-crds would delete objects, for example of %s; delete them first, or leave the definitions", strings.Join(full, ", "))
	}
	return nil
}

// find returns those that exist and that install made, by whose name among those who manage their fields, or the operator.
func (u *uninstaller) find(ctx context.Context, p phase) ([]*metav1.PartialObjectMetadata, error) {
	var found []*metav1.PartialObjectMetadata
	for _, target := range p.objects {
		live := &metav1.PartialObjectMetadata{}
		gvk, err := u.client.GroupVersionKindFor(target)
		if err != nil {
			return nil, err
		}
		live.SetGroupVersionKind(gvk)
		err = u.client.Get(ctx, client.ObjectKeyFromObject(target), live)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue
		}
		live.SetGroupVersionKind(gvk)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", kindAndName(target), err)
		}
		if !p.byOperator && !madeByInstall(live) {
			u.say("%s is not of install's making; it stays", kindAndName(live))
			continue
		}
		found = append(found, live)
	}
	return found, nil
}

func madeByInstall(obj client.Object) bool {
	return slices.ContainsFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == install.FieldManager })
}

// delete attempts all and reports what failed at the end.
func (u *uninstaller) delete(ctx context.Context, found []*metav1.PartialObjectMetadata) error {
	var errs []error
	for _, obj := range found {
		if u.dryRun {
			fmt.Fprintf(u.out, "would delete %s\n", kindAndName(obj))
			continue
		}
		uid := obj.GetUID()
		propagation := metav1.DeletePropagationBackground
		if obj.Kind == "Deployment" {
			// A Deployment that is gone while its pods still write would prove nothing.
			propagation = metav1.DeletePropagationForeground
		}
		err := u.client.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(propagation))
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("cannot delete %s: %w", kindAndName(obj), err))
			continue
		}
		fmt.Fprintf(u.out, "deleted %s\n", kindAndName(obj))
	}
	return errors.Join(errs...)
}

// waitUntilGone says what is left when it changes: a namespace ends with its last pod, a definition with its last object.
func (u *uninstaller) waitUntilGone(ctx context.Context, found []*metav1.PartialObjectMetadata) error {
	left := ""
	err := management.Within(ctx, time.Second/2, u.patience, func(ctx context.Context) (bool, error) {
		var names []string
		for _, obj := range found {
			live := &metav1.PartialObjectMetadata{}
			live.SetGroupVersionKind(obj.GroupVersionKind())
			err := u.client.Get(ctx, client.ObjectKeyFromObject(obj), live)
			switch {
			case apierrors.IsNotFound(err), meta.IsNoMatchError(err), err == nil && live.GetUID() != obj.GetUID():
			case err == nil, management.IsTransient(err):
				names = append(names, kindAndName(obj))
			default:
				return false, fmt.Errorf("cannot read %s: %w", kindAndName(obj), err)
			}
		}
		if now := strings.Join(names, ", "); now != left && now != "" {
			u.say("waiting for the end of %s", now)
			left = now
		}
		return len(names) == 0, nil
	})
	if errors.Is(err, management.ErrTimeUp) {
		return fmt.Errorf("after %s these are still there: %s; run uninstall again, or look at their finalizers", u.patience, left)
	}
	return err
}
