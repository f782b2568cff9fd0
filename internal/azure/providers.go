package azure

import (
	"context"
	"net/http"
)

const apiProviders = "2021-04-01"

// The states of a namespace of resource providers in a subscription.
const (
	Registered  = "Registered"
	Registering = "Registering"
)

// Registration is the state of the namespace in the subscription, such as NotRegistered.
func (s *Session) Registration(ctx context.Context, namespace string) (string, error) {
	return s.provider(ctx, http.MethodGet, namespace)
}

// Register has the subscription use the namespace from now on, and returns the state: Azure takes minutes to finish.
func (s *Session) Register(ctx context.Context, namespace string) (string, error) {
	return s.provider(ctx, http.MethodPost, namespace+"/register")
}

func (s *Session) provider(ctx context.Context, method, path string) (string, error) {
	var answer struct {
		State string `json:"registrationState"`
	}
	err := s.call(ctx, method, "/subscriptions/"+s.SubscriptionID+"/providers/"+path, apiProviders, &answer)
	return answer.State, err
}
