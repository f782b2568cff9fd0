package feasibility

import (
	"context"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/provision/verify"
)

// identities are the issuer as anyone reads it, its keys, each identity with its federated credentials, a token of each that Azure exchanges, and
// the roles where they are given already.
func (e *examination) identities(ctx context.Context) []preflight.Check {
	var checks []preflight.Check
	if e.IssuerURL == "" {
		checks = append(checks, preflight.Skipped("issuer", "no issuer is named", "give --oidc-issuer-url; `hypershift create oidc-issuer azure` makes one"))
	}
	if e.Identities == nil {
		checks = append(checks, preflight.Skipped("identities", "no workload identities are named", "give --workload-identities-file; `hypershift create iam azure` writes it"))
	}
	if e.IssuerURL == "" && e.Identities == nil {
		return checks
	}
	if e.Output == nil && e.Identities != nil && !e.Infra.AssignRoles {
		checks = append(checks, preflight.Verdict("role assignments", preflight.Warn, false, "nobody is asked to give the identities their roles in the groups that are made",
			"give --assign-service-principal-roles, or have them given: `hypershift create infra azure --assign-identity-roles`"))
	}
	found, err := verify.Run(ctx, e.s, e.handedOff(), verify.Options{Resolver: e.Resolver})
	if err != nil {
		return append(checks, preflight.OfError("issuer and identities", preflight.Fail, err, "correct what the message names"))
	}
	for _, c := range found {
		checks = append(checks, ofVerify(c))
	}
	return checks
}

// ofVerify is a check of verify in the words of a preflight: what Azure has on record and does not know everywhere yet is a warning.
func ofVerify(c verify.Check) preflight.Check {
	out := preflight.Check{Name: c.Area + " " + c.Name, Status: map[string]preflight.Status{verify.Pass: preflight.Pass, verify.Fail: preflight.Fail, verify.Skip: preflight.Skip}[c.Status], Detail: c.Detail, Remedy: c.Remedy}
	if c.Field != "" {
		out.Detail += "; check " + c.Field
	}
	if c.Spreading() {
		out.Status, out.Remedy = preflight.Warn, "Azure has it on record as it should be; it takes up to ten minutes to know it everywhere"
	}
	return out
}
