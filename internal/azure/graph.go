package azure

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// graph calls Microsoft Graph; a nil body sends none and a nil out reads none.
func (s *Session) graph(ctx context.Context, method, path string, query url.Values, body, out any) error {
	pipeline := runtime.NewPipeline("hypershift", "v1.0.0", runtime.PipelineOptions{
		PerRetry: []policy.Policy{runtime.NewBearerTokenPolicy(s.credential, []string{s.suffixes.Graph + "/.default"}, nil)},
	}, &s.options)
	req, err := runtime.NewRequest(ctx, method, s.suffixes.Graph+"/v1.0/"+path)
	if err != nil {
		return err
	}
	req.Raw().URL.RawQuery = query.Encode()
	if body != nil {
		if err := runtime.MarshalAsJSON(req, body); err != nil {
			return err
		}
	}
	resp, err := pipeline.Do(req)
	if err != nil {
		return err
	}
	if !runtime.HasStatusCode(resp, http.StatusOK, http.StatusCreated, http.StatusNoContent) {
		return runtime.NewResponseError(resp)
	}
	if out == nil {
		return resp.Body.Close()
	}
	return runtime.UnmarshalAsJSON(resp, out)
}

// directoryError adds the permission that Graph does not name.
func directoryError(op, resource string, err error) error {
	err = failure.Wrap(op, resource, err)
	var known *failure.Error
	if errors.As(err, &known) && known.Status == http.StatusForbidden {
		known.Remedy = "grant the Microsoft Graph permission Application.ReadWrite.OwnedBy with admin consent, or use a workload identity, which needs none"
	}
	return err
}

// Application is an application of the directory, as far as we use one.
type Application struct {
	ObjectID string `json:"id"`
	ClientID string `json:"appId"`
}

// FindApplication looks for the one with this display name; nil when there is none.
func (s *Session) FindApplication(ctx context.Context, displayName string) (*Application, error) {
	var answer struct {
		Value []Application `json:"value"`
	}
	filter := "displayName eq '" + strings.ReplaceAll(displayName, "'", "''") + "'"
	err := s.graph(ctx, http.MethodGet, "applications", url.Values{"$filter": {filter}}, nil, &answer)
	switch {
	case err != nil:
		return nil, directoryError("look up the application", displayName, err)
	case len(answer.Value) == 0:
		return nil, nil
	case len(answer.Value) > 1:
		return nil, &failure.Error{Op: "look up the application", Resource: displayName, Cause: "several applications have this name",
			Remedy: "choose another name, or remove the ones not in use", Kind: failure.Terminal}
	}
	return &answer.Value[0], nil
}

// EnsureApplication makes the application and its service principal unless they exist.
func (s *Session) EnsureApplication(ctx context.Context, displayName string) (*Application, error) {
	app, err := s.FindApplication(ctx, displayName)
	if err != nil {
		return nil, err
	}
	if app == nil {
		app = &Application{}
		if err := s.graph(ctx, http.MethodPost, "applications", nil, map[string]any{"displayName": displayName}, app); err != nil {
			return nil, directoryError("create the application", displayName, err)
		}
	}
	var principals struct {
		Value []struct{} `json:"value"`
	}
	filter := url.Values{"$filter": {"appId eq '" + app.ClientID + "'"}}
	if err := s.graph(ctx, http.MethodGet, "servicePrincipals", filter, nil, &principals); err != nil {
		return nil, directoryError("look up the service principal", displayName, err)
	}
	if len(principals.Value) > 0 {
		return app, nil
	}
	err = directoryError("create the service principal", displayName, s.graph(ctx, http.MethodPost, "servicePrincipals", nil, map[string]any{"appId": app.ClientID}, nil))
	if failure.CodeOf(err) == "Request_MultipleObjectsWithSameKeyValue" {
		err = nil // another run has just made it
	}
	return app, err
}

// AddPassword makes a client secret for the application; Azure shows it only here.
func (s *Session) AddPassword(ctx context.Context, app *Application, label string, life time.Duration) (string, error) {
	var made struct {
		Secret string `json:"secretText"`
	}
	body := map[string]any{"passwordCredential": map[string]any{"displayName": label, "endDateTime": time.Now().Add(life).UTC().Format(time.RFC3339)}}
	err := s.graph(ctx, http.MethodPost, "applications/"+app.ObjectID+"/addPassword", nil, body, &made)
	return made.Secret, directoryError("add a password to the application", app.ClientID, err)
}

// RemovePasswords takes the client secrets with this label from the application.
func (s *Session) RemovePasswords(ctx context.Context, app *Application, label string) error {
	var answer struct {
		Passwords []struct {
			Label string `json:"displayName"`
			KeyID string `json:"keyId"`
		} `json:"passwordCredentials"`
	}
	path := "applications/" + app.ObjectID
	if err := s.graph(ctx, http.MethodGet, path, nil, nil, &answer); err != nil {
		return directoryError("look up the passwords of the application", app.ClientID, err)
	}
	for _, p := range answer.Passwords {
		if p.Label != label {
			continue
		}
		if err := s.graph(ctx, http.MethodPost, path+"/removePassword", nil, map[string]any{"keyId": p.KeyID}, nil); err != nil {
			return directoryError("remove a password of the application", app.ClientID, err)
		}
	}
	return nil
}

// DeleteApplication removes the application, its service principal and secrets; an absent one is success.
func (s *Session) DeleteApplication(ctx context.Context, displayName string) error {
	app, err := s.FindApplication(ctx, displayName)
	if err != nil || app == nil {
		return err
	}
	err = directoryError("delete the application", displayName, s.graph(ctx, http.MethodDelete, "applications/"+app.ObjectID, nil, nil, nil))
	if failure.IsNotFound(err) {
		return nil
	}
	return err
}
