package component

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// Operand is a Deployment that a component's program makes in the control-plane namespace: the component has rolled out when it runs the payload's image.
type Operand struct {
	// Deployment is its name, Container the one that runs the image of the payload key.
	Deployment, Container, ImageKey string
}

// lackingOperand says, for people, which operand has not rolled out; empty when all have.
func lackingOperand(ctx *Context, operands []Operand) (string, error) {
	for _, o := range operands {
		live := &appsv1.Deployment{}
		err := ctx.Client.Get(ctx, client.ObjectKey{Namespace: ctx.Namespace(), Name: o.Deployment}, live)
		if apierrors.IsNotFound(err) {
			return "Deployment " + o.Deployment + " is not there yet", nil
		}
		if err != nil {
			return "", fmt.Errorf("read Deployment %s: %w", o.Deployment, err)
		}
		if lack := o.lacks(live, ctx.Image(o.ImageKey)); lack != "" {
			return lack, nil
		}
	}
	return "", nil
}

func (o Operand) lacks(live *appsv1.Deployment, image string) string {
	var runs string
	for _, c := range live.Spec.Template.Spec.Containers {
		if c.Name == o.Container {
			runs = c.Image
		}
	}
	if runs != image {
		return fmt.Sprintf("container %s of Deployment %s does not run the payload's %s yet", o.Container, o.Deployment, o.ImageKey)
	}
	if _, rollout := DeploymentConditions(live); rollout.Status != metav1.ConditionTrue {
		return rollout.Message
	}
	return ""
}

// observeOperands holds back RolloutComplete until the operands have rolled out.
func observeOperands(ctx *Context, c Component, result *Result) error {
	if c.Operands == nil || result.Rollout.Status != metav1.ConditionTrue {
		return nil
	}
	lack, err := lackingOperand(ctx, c.Operands(ctx))
	if err != nil {
		return err
	}
	if lack != "" {
		result.Rollout = condition(hyperv1.ControlPlaneComponentRolloutComplete, false, reasonWaitingForOperands, lack)
	}
	return nil
}

// reasonWaitingForOperands is of a component whose program has not made what it is for yet.
const reasonWaitingForOperands = "WaitingForOperands"
