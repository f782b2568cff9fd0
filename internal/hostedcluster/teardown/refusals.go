package teardown

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/clusterapi"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
)

const (
	// deletionFailed is the reason with which Azure's provider repeats what Azure refused. Where Azure does not even let it look, as when the
	// resource group is gone and with it the roles on it, the provider gives no other reason than for a machine that it makes.
	deletionFailed = "DeletionFailed"
	failed         = "Failed"
	maxRefusal     = 600
)

// Azure's provider repeats the answer as the SDK prints it: the request, rulers, and the body.
var (
	azureCode    = regexp.MustCompile(`ERROR CODE: (\S+)`)
	azureMessage = regexp.MustCompile(`"message": *"((?:[^"\\]|\\.)*)"`)
)

// machineRefusals says what Azure answered to the deletion of virtual machines and of what belongs to them; empty when it refused nothing.
// It is read past the cache: nobody else needs these objects, and a deletion is rare.
func machineRefusals(ctx context.Context, c *cluster.Cluster) (string, error) {
	machines := clusterapi.NewList(clusterapi.AzureMachine)
	err := c.Live.List(ctx, machines, client.InNamespace(c.Namespace))
	if meta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list AzureMachines: %w", err)
	}
	var refusals []string
	for i := range machines.Items {
		conditions, _, _ := unstructured.NestedSlice(machines.Items[i].Object, "status", "conditions")
		if words := refusal(conditions, machines.Items[i].GetDeletionTimestamp() != nil); words != "" {
			refusals = append(refusals, "AzureMachine "+machines.Items[i].GetName()+": "+strings.TrimSuffix(words, "."))
		}
	}
	slices.Sort(refusals)
	return strings.Join(refusals, "; "), nil
}

// refusal is the first of a machine's conditions that tells of one. Ready only sums the others up. A machine that is deleted may still say what
// kept it from being made: that counts where it stops a deletion as well, as a missing right does and a quota does not.
func refusal(conditions []any, deleted bool) string {
	summary := ""
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if !ok || condition["status"] != "False" {
			continue
		}
		text, _ := condition["message"].(string)
		words := azureWords(text)
		if condition["reason"] != deletionFailed && (condition["reason"] != failed || !deleted || remedyOf(words) == "") {
			continue
		}
		if condition["type"] != "Ready" {
			return words
		}
		summary = words
	}
	return summary
}

// azureWords takes Azure's code and message out of what the SDK printed; else the text as one line.
func azureWords(text string) string {
	code, message := azureCode.FindStringSubmatch(text), azureMessage.FindStringSubmatch(text)
	if code != nil && message != nil {
		text = code[1] + ": " + strings.ReplaceAll(message[1], `\"`, `"`)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxRefusal {
		text = strings.ToValidUTF8(text[:maxRefusal], "") + " ..."
	}
	return text
}
