package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// Compact is a component's configuration as its file has it, with what it says and nothing else: a field that is left at its zero value, which
// types without omitempty would write, is unknown to components older than the types. What is false stays: only a pointer writes it.
func Compact(configuration any) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, fmt.Errorf("write a %T: %w", configuration, err)
	}
	dropZero(fields)
	return fields, nil
}

// dropZero takes away what says nothing, and tells whether anything is left.
func dropZero(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			if !dropZero(one) {
				delete(v, key)
			}
		}
		return len(v) > 0
	case []any:
		for _, one := range v {
			dropZero(one)
		}
		return len(v) > 0
	case string:
		return v != "" && v != "0" && v != "0s" // "0" is a Quantity
	case int64, uint64, float64:
		return v != int64(0) && v != uint64(0) && v != float64(0)
	}
	return value != nil
}
