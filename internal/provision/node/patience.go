package node

import (
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// How long Azure is waited for. A new principal and a new role are said to be known everywhere within ten minutes
// (https://learn.microsoft.com/azure/role-based-access-control/troubleshooting); what the resource manager has made itself is sooner.
const (
	SpreadPatience = 10 * time.Minute
	freshPatience  = 5 * time.Minute
	busyPatience   = 5 * time.Minute
)

// transientTries bounds the repeats of what should pass at once: the SDK has tried each of them four times already.
const transientTries = 5

// Options turns a progress function into the engine's options.
func Options(progress stack.Progress) stack.Options {
	return stack.Options{Progress: progress, Judge: judge}
}

// judge has patience where it is known that something was made or given a short time ago, or where Azure itself says that it is busy. All
// else is told at once.
func judge(err error, at stack.Attempt) stack.Verdict {
	code, kind := failure.CodeOf(err), failure.KindOf(err)
	switch {
	case at.Fresh && failure.IsParentMissing(err):
		return stack.Verdict{Patience: freshPatience, For: "Azure to know everywhere what was just made"}
	case at.Fresh && failure.IsUnresolved(err):
		return stack.Verdict{Patience: freshPatience, For: "DNS to know the name of what was just made"}
	case at.Fresh && code == "AuthorizationPermissionMismatch":
		return stack.Verdict{Patience: SpreadPatience, For: "Azure to spread the role just given"}
	case code == "PrincipalNotFound": // the principal was looked up, or made by this run
		return stack.Verdict{Patience: SpreadPatience, For: "Azure to spread the new principal"}
	case code == codeForbidden && kind == failure.Waiting: // see spreading
		return stack.Verdict{Patience: SpreadPatience, For: "Azure to spread the role of these credentials"}
	case code == codeRegistering:
		return stack.Verdict{Patience: SpreadPatience, For: "Azure to register them"}
	case kind == failure.Waiting, kind == failure.Transient && at.Try < transientTries:
		return stack.Verdict{Patience: busyPatience}
	}
	return stack.Verdict{}
}
