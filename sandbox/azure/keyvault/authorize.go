package keyvault

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/entra"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/roles"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const actionPrefix = "Microsoft.KeyVault/vaults/"

// challenge tells where tokens for this vault come from: clients send their first request without one, to learn that.
func (c *call) challenge() {
	c.w.Header().Set("WWW-Authenticate", `Bearer authorization="https://login.microsoftonline.com/`+c.tenant+`", resource="`+Resource+`"`)
}

func (c *call) token() (string, error) {
	raw, given := wire.Bearer(c.req)
	if !given {
		c.challenge()
		return "", failf(http.StatusUnauthorized, "Unauthorized", "AKV10000: Request is missing a Bearer or PoP token.")
	}
	return raw, nil
}

// authorize lets roles decide, or, in a vault that does not use them, its access policies.
func (c *call) authorize(op *operation, raw string) error {
	caller, err := c.identity.Verify(raw, []string{Resource}, nil)
	if err != nil {
		var refused *entra.TokenError
		if errors.As(err, &refused) {
			c.challenge()
			return failf(http.StatusUnauthorized, "Unauthorized", "AKV10022: %s", refused.Message)
		}
		return err
	}
	access.SetPrincipal(c.req.Context(), caller.ClientID)
	if wire.Props(c.vault)["enableRbacAuthorization"] != true {
		return c.policies(op, caller)
	}
	scope := wire.Text(c.vault, "id")
	if c.name != "" {
		scope += "/" + c.kind.plural + "/" + c.name
	}
	action := actionPrefix + c.kind.plural + "/" + op.action
	if roles.Allowed(c.tx, roles.Data, caller.ObjectID, action, scope) {
		delay := fault.Propagation(c.req.Context(), fault.Role)
		if delay.None() || roles.Allowed(c.tx, roles.Data, caller.ObjectID, action, scope, delay.Hides) {
			return nil
		}
		fault.Hit(c.req.Context(), fault.Role)
	}
	return forbidden("ForbiddenByRbac", "Caller is not authorized to perform action on resource. If role assignments, deny assignments or role definitions were changed recently, please observe propagation time. Caller: appid=%s;oid=%s Action: '%s' Resource: '%s' Assignment: (not found)",
		caller.ClientID, caller.ObjectID, action, strings.ToLower(scope))
}

func (c *call) policies(op *operation, caller entra.Principal) error {
	for _, p := range wire.Docs(wire.Props(c.vault), "accessPolicies") {
		granted := wire.Texts(wire.Sub(p, "permissions"), c.kind.plural)
		if strings.EqualFold(wire.Text(p, "objectId"), caller.ObjectID) &&
			slices.ContainsFunc(granted, func(g string) bool { return strings.EqualFold(g, op.permission) || strings.EqualFold(g, "all") }) {
			return nil
		}
	}
	return forbidden("AccessDenied", "The user, group or application 'appid=%s;oid=%s' does not have %s %s permission on key vault '%s'.",
		caller.ClientID, caller.ObjectID, c.kind.plural, op.permission, c.vaultName)
}
