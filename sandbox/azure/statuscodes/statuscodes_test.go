package statuscodes

import (
	"fmt"
	"strings"
	"testing"
)

func TestReplay(t *testing.T) {
	const group = "https://management.azure.com/subscriptions/s/resourceGroups/rg"
	line := func(plane, method, url string, status int) string {
		return fmt.Sprintf(`{"plane":%q,"method":%q,"url":%q,"status":%d}`+"\n", plane, method, url, status)
	}
	log := line("arm", "PUT", group+"/providers/Microsoft.Storage/storageAccounts/acct?api-version=1", 201) +
		line("arm", "PUT", group+"/providers/Microsoft.Storage/storageAccounts/acct?api-version=1", 200) +
		line("arm", "PUT", group+"/providers/Microsoft.Storage/storageAccounts/acct?api-version=1", 409) +
		line("arm", "GET", group+"/providers/Microsoft.Storage/made/up", 200) +
		line("blob", "PUT", "https://acct.blob.core.windows.net/c", 299) +
		line("arm", "PUT", group+"/providers/Microsoft.Network/dnsZones/z/providers/Microsoft.Authorization/roleAssignments/n", 201)
	refused, checked, err := Replay(strings.NewReader(log))
	if err != nil || checked != 4 || len(refused) != 2 || !strings.Contains(refused[0], "answered 201") || !strings.Contains(refused[1], "no operation") {
		t.Errorf("%d checked, %v, %v", checked, refused, err)
	}
}
