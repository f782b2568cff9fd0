package failure

import "strings"

// entry says what a code of Azure means to the user of this program.
type entry struct {
	cause  string // "" keeps Azure's own sentence
	field  string // the exact field that does not match, "" where none does
	remedy string
	kind   Kind
}

const (
	fieldIssuer   = "the issuer of the federated credential against the token's claim iss"
	fieldSubject  = "the subject of the federated credential against the token's claim sub"
	fieldAudience = "the audience of the federated credential against the token's claim aud"
	// passingFailure is Azure's own mishap: an operation that it accepted has failed, and may succeed the next time.
	passingFailure = "it is tried again by itself; if it lasts, run the command again later"
	checkPolicy    = "ask the owner of the policy for an exemption, or change what the policy names"
)

// dictionary holds the codes that users of this field meet.
var dictionary = map[string]entry{
	"AADSTS700016": {"Entra does not know this client id in this tenant", "clientId or tenantId of the credentials file",
		"compare both with `az ad sp show --id CLIENT_ID`; an identity made seconds ago may need a minute", Terminal},
	"AADSTS90002": {"Entra does not know this tenant", "tenantId of the credentials file", "correct it; `az account show` prints the tenant", Terminal},
	"AADSTS7000215": {"the client secret is wrong", "clientSecret of the credentials file",
		"put the secret's value there, not its id; `az ad app credential reset --id CLIENT_ID` makes a new one", Terminal},
	"AADSTS7000222": {"the client secret has expired", "clientSecret of the credentials file",
		"make a new one with `az ad app credential reset --id CLIENT_ID`", Terminal},
	"AADSTS70021": {"no federated credential matches the token", "issuer, subject or audience of the identity's federated credential",
		"run `create iam azure` again with the cluster's --name and --oidc-issuer-url; a new credential may need minutes to be known everywhere", Waiting},
	"AADSTS70025": {"the identity has no federated credential at all", "federated credentials of the identity",
		"run `create iam azure` again with the same --name, --infra-id and --oidc-issuer-url", Waiting},
	"AADSTS700211": {"no federated credential has the token's issuer", fieldIssuer,
		"run `create iam azure` again with --oidc-issuer-url set to the HostedCluster's spec.issuerURL, letter by letter, without a slash at the end", Waiting},
	"AADSTS700212": {"the federated credential has another audience than the token", fieldAudience,
		"the audience must be openshift on both sides; run `create iam azure` again to correct the credential", Terminal},
	"AADSTS700213": {"no federated credential has the token's subject", fieldSubject,
		"the subject must be system:serviceaccount:NAMESPACE:NAME of the service account that asks; run `create iam azure` again to correct the credential", Waiting},
	"AADSTS700024": {"the token is not valid at this time", "claims nbf and exp of the token against Entra's clock",
		"set the clock of the machine that mints tokens (timedatectl set-ntp true), then mint a new token", Terminal},
	"AADSTS700027": {"the token's signature does not fit the issuer's published keys", "key of the issuer's openid/v1/jwks against the cluster's signing key",
		"run `create oidc-issuer azure` with the key pair that the cluster signs with", Waiting},
	"AADSTS50166": {"Entra cannot read the issuer's documents", "the issuer's address and its public access",
		"open ISSUER/.well-known/openid-configuration without signing in; `create oidc-issuer azure` publishes it again", Waiting},

	"AuthorizationFailed": {"", "role of the signed-in identity on the scope named",
		"grant it the missing role there: set-up needs Contributor and User Access Administrator on the subscription", Terminal},
	"LinkedAuthorizationFailed": {"", "role of the signed-in identity on the linked scope named", "grant it the missing role on that scope", Terminal},
	"AuthorizationPermissionMismatch": {"the role for blob data is missing or not active yet", "role of the signed-in identity on the storage account",
		"grant Storage Blob Data Contributor on the account; a new role may need minutes", Waiting},
	"DenyAssignmentAuthorizationFailed": {"", "deny assignment on the scope named", "ask who made the deny assignment: no role outweighs it", Terminal},
	"Authorization_RequestDenied": {"", "Microsoft Graph permissions of the signed-in identity",
		"grant Application.ReadWrite.OwnedBy with admin consent, or use workload identities, which need no right in Graph", Terminal},
	"AuthenticationFailed": {"", "credentials file", "check its four values", Terminal},
	"PrincipalNotFound": {"the directory does not know the principal yet", "principal of the role assignment",
		"it is tried again by itself; if it lasts, check that the identity still exists and that the identities file is current", Waiting},
	"RoleAssignmentExists": {"the principal holds the role on this scope already, under another name", "name of the role assignment",
		"it is looked up and kept by itself; if this lasts, delete the other assignment with `az role assignment delete`", Waiting},
	"UnmatchedPrincipalType": {"", "principalType of the role assignment against the kind of its principal",
		"check that the client or object id given is that of a managed identity or a service principal", Terminal},
	"RoleAssignmentLimitExceeded": {"the subscription has no role assignment left", "number of role assignments", "delete unused ones or ask for a higher limit", Terminal},

	"ConcurrentFederatedIdentityCredentialsWrites": {"another write on the same identity is under way", "federated credentials of the identity: expected one writer, found several",
		"it is tried again by itself; if it lasts, another program is writing credentials of this identity", Waiting},
	"AnotherOperationInProgress": {"another operation on the resource is under way", "", "it is tried again by itself", Waiting},
	"RetryableError":             {"", "", passingFailure, Transient},
	"InternalExecutionError":     {"", "", passingFailure, Transient},
	"InternalServerError":        {"", "", passingFailure, Transient},
	"InternalOperationError":     {"", "", passingFailure, Transient},
	"InternalError":              {"", "", passingFailure, Transient},
	"OperationTimedOut":          {"", "", passingFailure, Transient},
	"ServiceUnavailable":         {"", "", passingFailure, Transient},
	"TooManyRequests":            {"Azure is throttling this subscription", "", "it goes on by itself after the time that Azure asks for", Waiting},

	"ResourceGroupNotFound": {"the resource group does not exist", "name of the resource group or subscriptionId of the credentials file",
		"check both with `az group show`; create the group if it is one that you bring", Terminal},
	"ResourceNotFound":          {"the resource does not exist", "id of the resource", "check it with `az resource show --ids ID`; create the resource if it is one that you bring", Terminal},
	"ContainerBeingDeleted":     {"a container of this name is being deleted", "", "it is tried again by itself; Azure lets go of the name after half a minute or more", Waiting},
	"ResourceGroupBeingDeleted": {"the resource group is being deleted", "", "it is tried again by itself", Waiting},
	"PublicAccessNotPermitted": {"the storage account does not allow public blobs", "allowBlobPublicAccess of the storage account: expected true, found false",
		"set it to true or ask for an exemption from the policy that forbids it: Entra must read the issuer's documents without signing in", Terminal},
	"StorageAccountAlreadyTaken":          {"the storage account name is taken by another customer", "--storage-account-name", "choose another name", Terminal},
	"StorageAccountAlreadyExists":         {"the storage account name is taken", "--storage-account-name", "choose another name", Terminal},
	"RequestDisallowedByPolicy":           {"", "the property that the policy names", checkPolicy, Terminal},
	"QuotaExceeded":                       {"", "quota of the region named", "free resources there, choose another --location, or ask for more with `az quota`", Terminal},
	"PublicIPCountLimitReached":           {"", "quota of public addresses in the region", "free some, or ask for more", Terminal},
	"OperationNotAllowed":                 {"", "quota of the region named", "free resources there, choose another size or --location, or ask for more with `az quota`", Terminal},
	"AllocationFailed":                    {"", "size or location", "Azure has no room for this size there now: choose another size, zone or location, or try again later", Terminal},
	"ZonalAllocationFailed":               {"", "size or zone", "Azure has no room for this size in this zone now: choose another zone or size, or try again later", Terminal},
	"LocationNotAvailableForResourceType": {"", "--location", "choose one of the locations named", Terminal},
	"SubnetIsFull":                        {"", "address range of the subnet", "give the machines another subnet, or a larger one", Terminal},
	"KeyBasedAuthenticationNotPermitted": {"", "allowSharedKeyAccess of the storage account",
		"sign in with Entra: `--auth-mode login` of az; no account key is needed", Terminal},
	"SkuNotAvailable": {"", "size or location", "choose another one; `az vm list-skus --location LOCATION --all` shows the restrictions", Terminal},
	"ResourcePurchaseValidationFailed": {"", "purchase plan of the image",
		"accept the terms with `az vm image terms accept`, or use an image without a plan", Terminal},
	"VMMarketplaceInvalidInput": {"", "purchase plan of the image", "the machine's plan must be that of the image: `az vm image show --urn URN --query plan` prints it", Terminal},
	"MarketplacePurchaseEligibilityFailed": {"", "purchase plan of the image",
		"accept the terms with `az vm image terms accept`, or use an image without a plan", Terminal},
	"InvalidTemplate": {"", "the parameter that Azure names", "correct the value; the sentence above says which one Azure refuses", Terminal},
	"MissingSubscriptionRegistration": {"", "resource providers of the subscription",
		"register the namespace named with `az provider register --wait --namespace NAMESPACE`; that needs Contributor on the subscription", Terminal},
	"SubscriptionNotRegistered": {"", "resource providers of the subscription",
		"register the namespace named with `az provider register --wait --namespace NAMESPACE`; that needs Contributor on the subscription", Terminal},
	"ReadOnlyDisabledSubscription": {"the subscription is disabled", "state of the subscription", "have its owner enable it; `az account list --all` prints the state", Terminal},
	"ScopeLocked":                  {"", "lock on the scope named", "remove it with `az lock delete`, or leave what it protects; `az lock list` shows who made it and why", Terminal},
	"SubscriptionNotFound":         {"the subscription does not exist or is not visible", "subscriptionId of the credentials file", "check it with `az account list`", Terminal},
}

// families are codes that Azure completes in several ways.
var families = []string{"ConcurrentFederatedIdentityCredentialsWrites", "InvalidTemplate"}

// familyOf is the code under which the dictionary has it.
func familyOf(code string) string {
	for _, family := range families {
		if strings.HasPrefix(code, family) {
			return family
		}
	}
	return code
}

func lookUp(code string) (entry, bool) {
	found, ok := dictionary[familyOf(code)]
	return found, ok
}
