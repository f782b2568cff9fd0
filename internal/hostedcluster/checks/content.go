package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// ConfigurationContent decodes the members that the API carries unchanged. The schema has checked them; a member that is malformed
// all the same is left out and told.
func ConfigurationContent(configuration *hyperv1.ClusterConfiguration) (map[string]any, error) {
	content := map[string]any{}
	var problems []error
	for member, raw := range map[string]*runtime.RawExtension{
		"apiServer": configuration.APIServer, "authentication": configuration.Authentication, "image": configuration.Image,
		"ingress": configuration.Ingress, "oauth": configuration.OAuth, "scheduler": configuration.Scheduler,
	} {
		if raw == nil || len(raw.Raw) == 0 {
			continue
		}
		decoded := map[string]any{}
		if err := json.Unmarshal(raw.Raw, &decoded); err != nil {
			problems = append(problems, fmt.Errorf("spec.configuration.%s cannot be read: %w", member, err))
			continue
		}
		content[member] = decoded
	}
	return content, errors.Join(problems...)
}

// Walk calls visit for every value at the path, with the full name of its place.
func Walk(value any, path []string, place string, visit func(string, any)) {
	if len(path) == 0 {
		visit(place, value)
		return
	}
	members, ok := value.(map[string]any)
	if !ok {
		return
	}
	name, isList := strings.CutSuffix(path[0], "[]")
	next, ok := members[name]
	if !ok {
		return
	}
	place += "." + name
	if !isList {
		Walk(next, path[1:], place, visit)
		return
	}
	items, _ := next.([]any)
	for i, item := range items {
		Walk(item, path[1:], fmt.Sprintf("%s[%d]", place, i), visit)
	}
}
