package kube

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"
)

// TestCompact: what nobody set is not in the file, and what is set to false or zero by a pointer is told apart from that where it can be.
func TestCompact(t *testing.T) {
	got, err := Compact(&kubeletv1beta1.KubeletConfiguration{
		FailSwapOn: ptr.To(false), MaxPods: 7, SyncFrequency: metav1.Duration{Duration: time.Minute},
		ClusterDNS: []string{"10.0.0.10"}, EvictionHard: map[string]string{"memory.available": "1Gi"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"failSwapOn": false, "maxPods": int64(7), "syncFrequency": "1m0s",
		"clusterDNS": []any{"10.0.0.10"}, "evictionHard": map[string]any{"memory.available": "1Gi"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
