package issuer

import (
	"context"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Destroy removes the issuer of one cluster: its container where we made it, else the two documents in it; then the storage
// account, when we made it and nothing is left in it. Key files stay: a cluster of the same name can be made again with them.
func Destroy(ctx context.Context, s *azure.Session, o Options, progress func(stack.Event)) (Issuer, error) {
	if err := o.Validate(); err != nil {
		return Issuer{}, err
	}
	issuer := o.Resolve(s)
	return issuer, stack.Destroy(ctx, destroyNodes(s, o, issuer), node.Options(progress))
}

// PlanDestroy says what DestroyIssuer would remove.
func PlanDestroy(ctx context.Context, s *azure.Session, o Options) ([]stack.Step, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	issuer := o.Resolve(s)
	account := accountID(s, o, issuer)
	var steps []stack.Step
	container, err := s.Get(ctx, containerID(account, issuer), node.APIStorage)
	switch {
	case err == nil && ourContainer(container, issuer):
		steps = append(steps, stack.Step{Kind: "blob container", Name: issuer.Container, Action: "delete"})
	case err == nil:
		steps = append(steps, stack.Step{Kind: "issuer document", Name: DiscoveryPath, Action: "delete"}, stack.Step{Kind: "issuer document", Name: KeysPath, Action: "delete"})
	case !failure.IsNotFound(err):
		return nil, err
	}
	mine, err := ourAccount(ctx, s, account)
	if err != nil || !mine {
		return steps, err
	}
	others, err := otherContainers(ctx, s, account, issuer)
	if err == nil && len(others) == 0 {
		steps = append(steps, stack.Step{Kind: "storage account", Name: issuer.StorageAccount, Action: "delete"})
	}
	return steps, err
}

func destroyNodes(s *azure.Session, o Options, issuer Issuer) []*stack.Node {
	account := accountID(s, o, issuer)
	return []*stack.Node{
		{ID: "container", Kind: "blob container", Name: issuer.Container, DependsOn: []string{"account"},
			Delete: func(ctx context.Context) error { return deleteIssuerContainer(ctx, s, account, issuer) }},
		{ID: "account", Kind: "storage account", Name: issuer.StorageAccount,
			Delete: func(ctx context.Context) error { return deleteEmptyAccount(ctx, s, account, issuer) }},
	}
}

// ourContainer goes by the metadata that we give a container: those of the user and of other tools keep their other content.
func ourContainer(r *azure.Resource, issuer Issuer) bool {
	return r.Property("metadata", clusterMetadata) == issuer.Container
}

func deleteIssuerContainer(ctx context.Context, s *azure.Session, account string, issuer Issuer) error {
	id := containerID(account, issuer)
	found, err := s.Get(ctx, id, node.APIStorage)
	if failure.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if ourContainer(found, issuer) {
		return s.Delete(ctx, id, node.APIStorage)
	}
	for _, path := range []string{DiscoveryPath, KeysPath} {
		if err := s.DeleteBlob(ctx, issuer.StorageAccount, issuer.Container, path); err != nil {
			return err
		}
	}
	return nil
}

func deleteEmptyAccount(ctx context.Context, s *azure.Session, account string, issuer Issuer) error {
	found, err := s.Get(ctx, account, node.APIStorage)
	if failure.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !isOurs(found) {
		return stack.ErrKept
	}
	others, err := otherContainers(ctx, s, account, issuer)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return stack.ErrKept
	}
	principal, err := s.OwnPrincipal(ctx)
	if err != nil {
		return err
	}
	// An assignment on a scope that is gone could be found by nobody.
	if err := s.Unassign(ctx, blobWriter(principal, account)); err != nil {
		return err
	}
	return s.Delete(ctx, account, node.APIStorage)
}

func ourAccount(ctx context.Context, s *azure.Session, id string) (bool, error) {
	found, err := s.Get(ctx, id, node.APIStorage)
	if failure.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return isOurs(found), nil
}

func otherContainers(ctx context.Context, s *azure.Session, account string, issuer Issuer) ([]azure.Resource, error) {
	all, err := s.List(ctx, account+"/blobServices/default/containers", node.APIStorage, "")
	if failure.IsNotFound(err) {
		return nil, nil // another run has just removed the account
	}
	if err != nil {
		return nil, err
	}
	var others []azure.Resource
	for _, c := range all {
		if !strings.EqualFold(c.Name, issuer.Container) {
			others = append(others, c)
		}
	}
	return others, nil
}
