package prober

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// givenUp is how long a pod may take to end: one that takes longer is on a node that nobody hears of, and waited for no more.
const givenUp = 10 * time.Minute

// requireInfrastructure: programs of OpenShift's name what they make after it.
func (o Options) requireInfrastructure(ctx context.Context) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	raw, err := c.Discovery().RESTClient().Get().AbsPath("/apis/config.openshift.io/v1/infrastructures/cluster").Do(ctx).Raw()
	if err != nil {
		return err
	}
	var infrastructure struct {
		Status struct {
			InfrastructureName string `json:"infrastructureName"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &infrastructure); err != nil {
		return fmt.Errorf("read Infrastructure cluster: %w", err)
	}
	if infrastructure.Status.InfrastructureName == "" {
		return errors.New("status.infrastructureName of Infrastructure cluster is empty")
	}
	return nil
}

func (o Options) requireGone(ctx context.Context, namespace, label string) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	pods, err := c.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return err
	}
	return stillThere(pods.Items, time.Now())
}

// stillThere names the first pod that counts.
func stillThere(pods []corev1.Pod, now time.Time) error {
	for _, pod := range pods {
		if deleted := pod.DeletionTimestamp; deleted == nil || now.Sub(deleted.Time) <= givenUp {
			return fmt.Errorf("pod %s is still there", pod.Name)
		}
	}
	return nil
}
