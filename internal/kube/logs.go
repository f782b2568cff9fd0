package kube

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Tail reads the end of a container's log; previous is that of the one before the last restart.
type Tail func(ctx context.Context, namespace, pod, container string, previous bool) (string, error)

// LogTail reads at most so many lines and bytes of each log.
func LogTail(pods corev1client.PodsGetter, lines, bytes int64) Tail {
	return func(ctx context.Context, namespace, pod, container string, previous bool) (string, error) {
		options := &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: &lines, LimitBytes: &bytes}
		stream, err := pods.Pods(namespace).GetLogs(pod, options).Stream(ctx)
		if err != nil {
			return "", fmt.Errorf("read the log of %s/%s: %w", namespace, pod, err)
		}
		defer stream.Close()
		text, err := io.ReadAll(stream)
		return string(text), err
	}
}
