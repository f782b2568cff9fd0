package azure

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Sizes are read of the rows that are sizes, of all pages, and with what a machine has.
func TestMachineSizes(t *testing.T) {
	row := func(name, capabilities string) string {
		return `{"resourceType":"virtualMachines","name":"` + name + `","capabilities":[` + capabilities + `]}`
	}
	has := func(name, value string) string { return `{"name":"` + name + `","value":"` + value + `"}` }
	pages := []string{
		`{"value":[{"resourceType":"disks","name":"Premium_LRS","capabilities":[` + has("vCPUs", "4") + `]},` +
			row("Standard_D4s_v3", has("vCPUs", "4")+","+has("MemoryGB", "16")+","+has("CpuArchitectureType", "x64")) +
			`],"nextLink":"https://management.azure.com/subscriptions/` + uuidB + `/providers/Microsoft.Compute/skus?$skiptoken=2"}`,
		`{"value":[` + row("Standard_NC24", has("vCPUs", "24")+","+has("MemoryGB", "3.5")+","+has("CpuArchitectureType", "Arm64")+","+has("GPUs", "4")) + `,` +
			row("NoMemory", has("vCPUs", "4")+","+has("CpuArchitectureType", "x64")) + `,` +
			row("NegativeMemory", has("vCPUs", "4")+","+has("MemoryGB", "-1")+","+has("CpuArchitectureType", "x64")) + `,` +
			row("NoNumber", has("vCPUs", "NaN")+","+has("MemoryGB", "NaN")+","+has("CpuArchitectureType", "x64")) + `,` +
			row("OtherProcessor", has("vCPUs", "4")+","+has("MemoryGB", "16")+","+has("CpuArchitectureType", "s390x")) + `]}`,
	}
	var asked []string
	answer := transport(func(r *http.Request) *http.Response {
		w := httptest.NewRecorder()
		_, _ = w.WriteString(pages[len(asked)])
		asked = append(asked, r.URL.Path+" "+r.URL.Query().Get("$filter")+r.URL.Query().Get("$skiptoken"))
		out := w.Result()
		out.Request = r
		return out
	})
	client, err := arm.NewClient("test", "v1.0.0", signedIn("{}"), &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: answer}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{Credentials: Credentials{SubscriptionID: uuidB}, arm: client}
	got, err := s.MachineSizes(t.Context(), "eastus")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["standard_d4s_v3"] != (MachineSize{"Standard_D4s_v3", 4, 16384, 0, "amd64"}) || got["standard_nc24"] != (MachineSize{"Standard_NC24", 24, 3584, 4, "arm64"}) {
		t.Errorf("%+v", got)
	}
	if path := "/subscriptions/" + uuidB + "/providers/Microsoft.Compute/skus "; len(asked) != 2 || asked[0] != path+"location eq 'eastus'" || asked[1] != path+"2" {
		t.Errorf("asked %q", asked)
	}
}
