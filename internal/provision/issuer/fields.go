package issuer

import "github.com/hypershift-on-azure/hypershift/internal/field"

// The fields that errors and remedies name.
const (
	FieldName           field.Field = "issuer.Name"
	FieldShared         field.Field = "issuer.Shared"
	FieldResourceGroup  field.Field = "issuer.ResourceGroup"
	FieldStorageAccount field.Field = "issuer.StorageAccount"
	FieldKeyDirectory   field.Field = "issuer.KeyDirectory"
	FieldPrivateKey     field.Field = "issuer.PrivateKey"
	FieldPublicKey      field.Field = "issuer.PublicKey"
	FieldTags           field.Field = "issuer.Tags"
	FieldURL            field.Field = "issuer.URL"
	FieldTrustedURL     field.Field = "issuer.TrustedURL"
	FieldSigner         field.Field = "issuer.Signer"
)
