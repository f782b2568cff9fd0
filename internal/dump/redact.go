package dump

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hidden stands where a secret was.
const hidden = "<removed>"

// secrets are what is never written, wherever it stands: passwords of addresses, signatures of shared access, tokens, private keys, and what a
// text itself calls a password.
var secrets = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), hidden},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`), hidden},
	{regexp.MustCompile(`(://)[^/\s"'@]+@`), "${1}" + hidden + "@"},
	{regexp.MustCompile(`(?i)([?&](?:amp;|u0026)?sig=)[^&\s"'\\]+`), "${1}" + hidden},
	{regexp.MustCompile(`(?i)(\bauthorization["']?[ \t]*[:=][ \t]*["']?(?:bearer|basic)[ \t]+)[^\s"',]+`), "${1}" + hidden},
	{regexp.MustCompile(`(?i)((?:client_?secret|password|passwd|client_assertion|account_?key|client-key-data|(?:\b|_)token)["']?[ \t]*[:=][ \t]*["']?)[^\s"',&;]+`), "${1}" + hidden},
	{regexp.MustCompile(`("auth"[ \t]*:[ \t]*")[^"]+`), "${1}" + hidden},
}

// Redact takes secrets out of a text.
func Redact(text string) string {
	for _, secret := range secrets {
		text = secret.pattern.ReplaceAllString(text, secret.instead)
	}
	return text
}

// lastApplied repeats an object as it was typed, values of Secrets included.
const lastApplied = corev1.LastAppliedConfigAnnotation

// Strip takes out of an object what nobody needs to read, and of a Secret its values: their sizes stay.
func Strip(obj *unstructured.Unstructured) {
	obj.SetManagedFields(nil)
	annotations := obj.GetAnnotations()
	delete(annotations, lastApplied)
	obj.SetAnnotations(annotations)
	if obj.GetKind() != "Secret" || obj.GroupVersionKind().Group != "" {
		return
	}
	delete(obj.Object, "stringData")
	data, ok := obj.Object["data"].(map[string]any)
	if !ok {
		return
	}
	for key, value := range data {
		text, _ := value.(string)
		data[key] = fmt.Sprintf("<%d characters in base64, removed>", len(text))
	}
}
