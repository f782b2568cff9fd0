package oauthserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/clusterconfig"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	// letters of a password: none that looks like another.
	letters      = "23456789abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ"
	passwordSize = 23
	passwordKey  = "password"
)

// kubeadminOf is the password of the first administrator: kept once made, and gone when the user configures how others log in.
func kubeadminOf(ctx *component.Context) ([]client.Object, error) {
	_, given, err := clusterconfig.OAuthOf(ctx.HCP)
	if err != nil || given {
		return nil, err
	}
	have, err := ctx.Secret(KubeadminSecret)
	var missing *component.MissingInputError
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	password := have[passwordKey]
	if len(password) == 0 {
		if password, err = newPassword(); err != nil {
			return nil, err
		}
	}
	return []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: KubeadminSecret}, Data: map[string][]byte{passwordKey: password}}}, nil
}

// newPassword is 23 characters, four groups of five.
func newPassword() ([]byte, error) {
	password := make([]byte, passwordSize)
	for i := range password {
		if i%6 == 5 {
			password[i] = '-'
			continue
		}
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return nil, fmt.Errorf("make a password: %w", err)
		}
		password[i] = letters[n.Int64()]
	}
	return password, nil
}
