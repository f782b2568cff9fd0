// Package issuer is the stack of an OIDC issuer: key pair, storage account, container and the two documents that Azure reads.
package issuer

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// Where the documents are, below the issuer's URL.
const (
	DiscoveryPath = ".well-known/openid-configuration"
	KeysPath      = "openid/v1/jwks"
)

const (
	// roleBlobDataContributor is the built-in role Storage Blob Data Contributor.
	roleBlobDataContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"

	// clusterMetadata is the member of a container's metadata that names the cluster whose issuer it holds: containers have no tags.
	clusterMetadata = "hypershift_cluster"
)

// Stack is the name of the stack in an inventory.
const Stack = "oidc-issuer"

// Issuer is what exists once the stack is there.
type Issuer struct {
	URL            string `json:"issuerURL"`
	StorageAccount string `json:"storageAccount"`
	Container      string `json:"container"`
	PrivateKeyPath string `json:"privateKeyPath"`
	PublicKeyPath  string `json:"publicKeyPath"`
}

// AccountName derives a storage account name that is the same on every run for one group of one subscription.
func AccountName(subscriptionID, group string) string {
	sum := sha256.Sum256([]byte(subscriptionID + "/" + group))
	return "hypershift" + hex.EncodeToString(sum[:])[:12]
}

// Resolve says where the issuer of these options is, whether it exists or not.
func (o Options) Resolve(s *azure.Session) Issuer {
	account := o.StorageAccount
	if account == "" {
		account = AccountName(s.SubscriptionID, o.ResourceGroup)
	}
	container := o.Name
	if o.Shared {
		container = account
	}
	private, public := o.PrivateKey, o.PublicKey
	if private == "" {
		private = filepath.Join(o.KeyDirectory, signing.PrivateFile)
	}
	if public == "" && o.PrivateKey == "" {
		public = filepath.Join(o.KeyDirectory, signing.PublicFile)
	}
	return Issuer{
		URL:            s.BlobEndpoint(account) + "/" + container,
		StorageAccount: account, Container: container, PrivateKeyPath: private, PublicKeyPath: public,
	}
}

// signer is the user's own key, or the pair in the key directory, made when there is none.
func (o Options) signer(issuer Issuer) (*rsa.PrivateKey, error) {
	if o.PrivateKey == "" {
		return signing.EnsurePair(issuer.PrivateKeyPath, issuer.PublicKeyPath)
	}
	return o.ownSigner()
}

func (o Options) ownSigner() (*rsa.PrivateKey, error) {
	key, err := signing.ReadPrivate(o.PrivateKey)
	if err == nil && o.PublicKey != "" {
		err = signing.CheckPublicFile(o.PublicKey, key)
	}
	return key, err
}

// Create makes the key pair, the account, the container and the documents, and reads the documents anonymously before it
// reports success.
func Create(ctx context.Context, s *azure.Session, o Options, progress stack.Progress) (Issuer, error) {
	if err := o.Validate(); err != nil {
		return Issuer{}, err
	}
	issuer := o.Resolve(s)
	key, err := o.SigningKey(issuer)
	if err != nil {
		return Issuer{}, err
	}
	return issuer, ExplainPublicAccess(issuer, stack.Create(ctx, guarded(s, o, issuer, key), node.Options(progress)))
}

// Plan says what CreateIssuer would do; it writes nothing, not even a key.
func Plan(ctx context.Context, s *azure.Session, o Options) ([]stack.Step, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	issuer := o.Resolve(s)
	key, err := o.SigningKey(issuer)
	if err != nil {
		return nil, err
	}
	return stack.Plan(ctx, guarded(s, o, issuer, key))
}

// guarded are the nodes with what is asked before the first of them is written, be it a file.
func guarded(s *azure.Session, o Options, issuer Issuer, key *SigningKey) []*stack.Node {
	nodes := append(Nodes(s, o, issuer, key), PublishedNode(s, o, issuer, key))
	return node.Guarded(s, o.Location, nodes, func() []*stack.Node { return Nodes(s, o, issuer, key.AsIs()) })
}

// PublishedNode refuses a key that is not the one published already, before it is made: replacing the published one would have the
// tokens of a running cluster refused.
func PublishedNode(s *azure.Session, o Options, issuer Issuer, signer *SigningKey) *stack.Node {
	ours := signer.key // the run itself may set the other one
	return &stack.Node{ID: "published", Kind: "published keys", Name: issuer.URL, Brought: true,
		Observe: func(ctx context.Context) (stack.State, error) {
			_, err := s.Get(ctx, accountID(s, o, issuer), node.APIStorage)
			if failure.IsNotFound(err) { // its address may not even resolve
				err = nameIsFree(ctx, s, issuer.StorageAccount)
				if err == nil || !appears(ctx, s, accountID(s, o, issuer)) {
					return stack.Current, err
				}
			}
			set, err := PublishedKeys(ctx, s, issuer.URL)
			if errors.Is(err, ErrNoKeySet) {
				return stack.Current, nil
			}
			if err == nil && (ours == nil || !set.Has(ours)) {
				err = otherKey(issuer, set)
			}
			return stack.Current, err
		}}
}

// nameIsFree asks before anything is made whether Azure would take the name. Who may not ask learns it from the answer to the write.
func nameIsFree(ctx context.Context, s *azure.Session, name string) error {
	refused, err := s.StorageNameRefused(ctx, name)
	if err != nil || refused == "" {
		return ctx.Err()
	}
	return field.Errorf(FieldStorageAccount, "Azure has no storage account %s for this subscription: %s; choose another name by %s", name, refused, FieldStorageAccount)
}

// looks is how often, and pause how long, an account is looked for whose name is taken.
const (
	looks = 3
	pause = time.Second
)

// appears tells whether the account whose name is taken is ours after all: a run beside this one or before it has just made it, and Azure's
// reads are behind its names.
func appears(ctx context.Context, s *azure.Session, account string) bool {
	for look := range looks {
		if look > 0 && stack.Sleep(ctx, pause) != nil {
			return false
		}
		if _, err := s.Get(ctx, account, node.APIStorage); err == nil {
			return true
		}
	}
	return false
}

func otherKey(issuer Issuer, set *signing.KeySet) error {
	return field.Errorf(FieldKeyDirectory, "%s publishes another key than that of %s (key id %s), so another cluster of this name is in use: give %s with the folder of its key, or the key with %s; "+
		"choose another %s for another cluster; change keys with `hypershift rotate oidc-issuer azure`; or, when its cluster is gone, remove it with `hypershift destroy oidc-issuer azure` first",
		issuer.URL, issuer.PrivateKeyPath, set.IDs()[0], FieldKeyDirectory, FieldPrivateKey, FieldName)
}

// ExplainPublicAccess adds the ways that are left where nobody may allow public blobs.
func ExplainPublicAccess(issuer Issuer, err error) error {
	if code := failure.CodeOf(err); code != "PublicAccessNotPermitted" && code != "RequestDisallowedByPolicy" {
		return err
	}
	return field.Errorf(FieldURL, "%w. Where policy forbids public blobs, publish the two documents at another https address that Entra can read: "+
		"a static website (az storage blob service-properties update --account-name %s --static-website --auth-mode login; container $web) or a custom domain. "+
		"Run this command with %s ADDRESS to write the documents for that address and to check them there, "+
		"then pass it to the other commands as %s", err, issuer.StorageAccount, FieldURL, FieldTrustedURL)
}

func accountID(s *azure.Session, o Options, issuer Issuer) string {
	return s.ResourceID(o.ResourceGroup, node.TypeStorage, issuer.StorageAccount)
}

func containerID(accountID string, issuer Issuer) string {
	return accountID + "/blobServices/default/containers/" + issuer.Container
}

// Nodes are the nodes without what is asked before.
func Nodes(s *azure.Session, o Options, issuer Issuer, key *SigningKey) []*stack.Node {
	id := accountID(s, o, issuer)
	container := containerNode(s, id, issuer)
	mayWrite := node.Assignment(s, "role", "Storage Blob Data Contributor", func(ctx context.Context) (azure.Assignment, error) {
		principal, err := s.OwnPrincipal(ctx)
		return blobWriter(principal, id), err
	}, "account")
	return []*stack.Node{node.Group(s, "group", o.ResourceGroup, o.Location, o.Tags, true), accountNode(s, o, id, issuer), serviceNode(s, id), container, mayWrite,
		key.node(), discoveryNode(s, issuer), keysNode(s, issuer, key)}
}

// containerNode marks the container as ours only where it makes it, and leaves what else the user's has.
func containerNode(s *azure.Session, account string, issuer Issuer) *stack.Node {
	return node.Resource{Session: s, ID: containerID(account, issuer), API: node.APIStorage,
		Body: func() azure.Resource {
			return azure.Resource{Properties: map[string]any{"publicAccess": "Container", "metadata": map[string]any{clusterMetadata: issuer.Container}}}
		},
		Current: func(r *azure.Resource) bool { return r.Property("publicAccess") == "Container" },
		Change:  func() azure.Resource { return azure.Resource{Properties: map[string]any{"publicAccess": "Container"}} },
	}.Node("container", "blob container", issuer.Container, "account")
}

// blobWriter lets the one who runs the command upload with his Entra token.
func blobWriter(who azure.Principal, accountID string) azure.Assignment {
	return azure.Assignment{Name: azure.AssignmentName(who.ObjectID, "oidc-issuer", accountID), Scope: accountID,
		RoleGUID: roleBlobDataContributor, PrincipalID: who.ObjectID, PrincipalType: who.Type}
}

// isOurs tells whether we made the account. No key of it opens one of ours: what is written there is written with Entra's tokens, by name.
func isOurs(account *azure.Resource) bool { return account.Tags[issuerTag] == "owned" }

// keptDays is how long Azure keeps what was deleted or written over in an account of ours.
const keptDays = 14

// serviceNode has an account of ours keep former versions of the documents, and what was deleted: whoever replaces the keys leaves a trace, and
// what was there can be restored.
func serviceNode(s *azure.Session, account string) *stack.Node {
	keeps := func(r *azure.Resource, policy string) bool {
		found, _ := r.Properties[policy].(map[string]any)
		return found["enabled"] == true
	}
	n := node.Resource{Session: s, ID: account + "/blobServices/default", API: node.APIStorage,
		Body: func() azure.Resource {
			kept := map[string]any{"enabled": true, "days": keptDays}
			return azure.Resource{Properties: map[string]any{"isVersioningEnabled": true, "deleteRetentionPolicy": kept, "containerDeleteRetentionPolicy": kept}}
		},
		Current: func(r *azure.Resource) bool {
			return r.Properties["isVersioningEnabled"] == true && keeps(r, "deleteRetentionPolicy") && keeps(r, "containerDeleteRetentionPolicy")
		},
	}.Node("service", "blob service", "with versions and soft delete", "account")
	n.Delete = nil // goes with the account
	look := n.Observe
	n.Observe = func(ctx context.Context) (stack.State, error) {
		if found, err := s.Get(ctx, account, node.APIStorage); err != nil || !isOurs(found) {
			return stack.Current, err // the user's: it stays as it is
		}
		return look(ctx)
	}
	return n
}

// accountNode keeps what a storage account of the user has beside the one property that we need.
func accountNode(s *azure.Session, o Options, id string, issuer Issuer) *stack.Node {
	ours := false
	return node.Resource{Session: s, ID: id, API: node.APIStorage,
		Body: func() azure.Resource {
			return azure.Resource{Location: o.Location, Kind: "StorageV2", SKU: map[string]any{"name": "Standard_LRS"}, Tags: node.WithTag(o.Tags, issuerTag),
				Properties: map[string]any{"allowBlobPublicAccess": true, "minimumTlsVersion": "TLS1_2", "supportsHttpsTrafficOnly": true, "allowSharedKeyAccess": false}}
		},
		Current: func(r *azure.Resource) bool {
			ours = isOurs(r)
			return r.Properties["allowBlobPublicAccess"] == true && (!ours || r.Properties["allowSharedKeyAccess"] == false)
		},
		Change: func() azure.Resource {
			change := map[string]any{"allowBlobPublicAccess": true}
			if ours {
				change["allowSharedKeyAccess"] = false
			}
			return azure.Resource{Properties: change}
		},
	}.Node("account", "storage account", issuer.StorageAccount, "group")
}

// issuerTag marks a storage account that we made; it may hold the issuers of many clusters.
var issuerTag = node.StackTag("oidc-issuer", "account")

func discoveryNode(s *azure.Session, issuer Issuer) *stack.Node {
	want, err := encodeDiscovery(issuer.URL)
	return document(s, issuer, DiscoveryPath, func(got []byte) (bool, error) { return bytes.Equal(got, want), err }, func() ([]byte, error) { return want, err })
}

// keysNode publishes the key. A document that has further keys stays, for it is one of a rotation; one that lacks ours while it
// has others belongs to another key, and replacing it would have the tokens of a running cluster refused.
func keysNode(s *azure.Session, issuer Issuer, signer *SigningKey) *stack.Node {
	current := func(got []byte) (bool, error) {
		set, err := signing.ParseKeySet(got)
		if err != nil || signer.key == nil {
			return false, nil // not a key set: ours replaces it
		}
		if !set.Has(signer.key) {
			return false, otherKey(issuer, set)
		}
		return true, nil
	}
	n := document(s, issuer, KeysPath, current, func() ([]byte, error) {
		documents, err := documents(issuer.URL, signer.key)
		return documents[KeysPath], err
	})
	n.DependsOn = append(n.DependsOn, keyNode)
	return n
}

// document is the node of a blob that anyone may read; observing is the anonymous read that Entra will do.
func document(s *azure.Session, issuer Issuer, path string, current func([]byte) (bool, error), content func() ([]byte, error)) *stack.Node {
	url := issuer.URL + "/" + path
	observe := func(ctx context.Context) (stack.State, error) {
		got, status, err := s.ReadPublic(ctx, url)
		if err != nil {
			return stack.Missing, failure.Wrap("read anonymously", url, err)
		}
		if status != http.StatusOK {
			return stack.Missing, nil
		}
		same, err := current(got)
		if same {
			return stack.Current, err
		}
		return stack.Drifted, err
	}
	return &stack.Node{ID: path, Kind: "issuer document", Name: path, DependsOn: []string{"container", "role", "service"}, Within: "container",
		Observe: observe,
		Apply: func(ctx context.Context) error {
			raw, err := content()
			if err != nil {
				return err
			}
			if err := s.UploadBlob(ctx, issuer.StorageAccount, issuer.Container, path, "application/json", raw); err != nil {
				return err
			}
			if state, err := observe(ctx); err != nil || state == stack.Current {
				return err
			}
			return &failure.Error{Op: "read anonymously", Resource: url, Cause: "the document was uploaded but cannot be read without signing in",
				Remedy: "allow public blob access on the storage account", Code: "PublicAccessNotPermitted", Kind: failure.Terminal}
		},
		Delete: func(ctx context.Context) error {
			return s.DeleteBlob(ctx, issuer.StorageAccount, issuer.Container, path)
		}}
}
