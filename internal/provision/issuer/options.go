package issuer

import (
	"cmp"
	"regexp"
	"sync"

	"github.com/hypershift-on-azure/hypershift/internal/provision/rules"
)

// Options describe the issuer of one hosted cluster, or of several with Shared.
type Options struct {
	Name           string // hosted cluster; the container's name
	ResourceGroup  string // persistent group
	Location       string
	StorageAccount string // "" derives one from the subscription and group
	Shared         bool   // container named as the account: one issuer for many clusters
	KeyDirectory   string // where the key pair is, or is written
	PrivateKey     string // the user's own files, never written; "" for those of KeyDirectory
	PublicKey      string
	Tags           map[string]string
}

var (
	accountPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	})
	containerPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	})
)

// Validate names the field that is wrong.
func (o Options) Validate() error {
	switch {
	case o.Name == "" && !o.Shared:
		return FieldName.Wrong("is required: it names the hosted cluster")
	case !o.Shared && (len(o.Name) < 3 || len(o.Name) > 63 || !containerPattern().MatchString(o.Name)):
		return FieldName.Wrong("%q cannot name a blob container, which has 3 to 63 lower-case letters, digits and single dashes; choose another name, or %s", o.Name, FieldShared)
	case o.ResourceGroup == "":
		return FieldResourceGroup.Wrong("is required: the persistent resource group")
	case o.StorageAccount != "" && !accountPattern().MatchString(o.StorageAccount):
		return FieldStorageAccount.Wrong("%q must be 3 to 24 lower-case letters and digits", o.StorageAccount)
	case o.PublicKey != "" && o.PrivateKey == "":
		return FieldPublicKey.Wrong("needs %s: the documents are checked against the key that signs", FieldPrivateKey)
	}
	return cmp.Or(rules.Group(FieldResourceGroup, o.ResourceGroup), rules.Tags(FieldTags, o.Tags))
}
