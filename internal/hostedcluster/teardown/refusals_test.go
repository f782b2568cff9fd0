package teardown

import "testing"

// TestRefusal: Azure's words are taken from what failed in a deletion, also where the provider was not even let look; a machine that is made
// refuses nothing.
func TestRefusal(t *testing.T) {
	of := func(kind, status, reason, message string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	}
	denied := of("NetworkInterfacesReady", "False", "Failed", "interfaces failed. err: GET https://x\nERROR CODE: AuthorizationFailed\n{\"error\": {\"message\": \"The client has no right.\"}}")
	for name, tc := range map[string]struct {
		conditions []any
		deleted    bool
		want       string
	}{
		"its group is gone":            {[]any{of("Ready", "False", "Failed", "summed up"), denied}, true, "AuthorizationFailed: The client has no right."},
		"it is made and fails":         {[]any{denied}, false, ""},
		"it was not made for its size": {[]any{of("VMRunning", "False", "Failed", "QuotaExceeded: no cores are left")}, true, ""},
		"a deletion is refused":        {[]any{of("VMRunning", "False", "DeletionFailed", "no")}, false, "no"},
		"only the summary tells":       {[]any{of("Ready", "False", "DeletionFailed", "in all")}, true, "in all"},
		"it is deleted, and works":     {[]any{of("VMRunning", "False", "Deleting", ""), of("DisksReady", "True", "", "")}, true, ""},
	} {
		if got := refusal(tc.conditions, tc.deleted); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
