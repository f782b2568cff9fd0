package guest

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/inside"
)

// changesOwnNode: who took the token of a program from a machine changes the Node of that machine and no other; the programs' right to
// nodes, which is the control, is that of their own Node.
func (s *server) changesOwnNode() {
	s.t.Helper()
	s.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "own"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	patch := func(account, tokenOf, node, text string, status bool) error {
		config := rest.CopyConfig(s.config)
		user := "system:serviceaccount:" + inside.KubeSystem + ":" + account
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
		if tokenOf != "" {
			config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {tokenOf}}
		}
		thief, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
		s.must(err)
		obj, change := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.MergePatchType, []byte(text))
		if status {
			return thief.Status().Patch(s.t.Context(), obj, change)
		}
		return thief.Patch(s.t.Context(), obj, change)
	}
	const label, condition = `{"metadata":{"labels":{"stolen":"yes"}}}`, `{"status":{"phase":"Terminated"}}`
	refused := func(err error) error {
		if err == nil || !strings.Contains(err.Error(), configuration.OwnNodeMessage) {
			return fmt.Errorf("another Node is changed: %w", errors.Join(err, errors.New("not refused")))
		}
		return nil
	}
	// A policy for admission takes effect a moment after it is made.
	s.eventually(func() error { return refused(patch(inside.NodeManagerName, "own", "other", label, false)) })
	s.must(refused(patch(inside.NodeManagerName, "own", "other", condition, true)))
	s.must(refused(patch(inside.FlannelName, "own", "other", condition, true)))
	s.must(refused(patch(inside.NodeManagerName, "", "own", label, false)))
	s.must(patch(inside.NodeManagerName, "own", "own", label, false))
	s.must(patch(inside.FlannelName, "own", "own", condition, true))
	for _, name := range []string{"own", "other"} {
		s.must(s.client.Delete(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
}
