package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxRequest is the size of the largest set of rules that is read.
const maxRequest = 1 << 20

// Register adds the admin API: GET, POST and DELETE of /faults, DELETE of /faults/ID.
func (i *Injector) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { i.reply(w, http.StatusOK, i.List()) })
	mux.HandleFunc("POST /faults", i.serveAdd)
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) { i.serveClear(w) })
	mux.HandleFunc("DELETE /faults/{id}", func(w http.ResponseWriter, r *http.Request) { i.serveClear(w, r.PathValue("id")) })
}

func (i *Injector) serveAdd(w http.ResponseWriter, r *http.Request) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	decoder.DisallowUnknownFields() // a misspelt selector would match everything
	var doc document
	if err := decoder.Decode(&doc); err != nil {
		http.Error(w, "the body is no list of faults: "+err.Error(), http.StatusBadRequest)
		return
	}
	added, err := i.Add(doc.Rules...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.reply(w, http.StatusCreated, added)
}

func (i *Injector) serveClear(w http.ResponseWriter, ids ...string) {
	switch err := i.Clear(ids...); {
	case errors.Is(err, ErrUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (i *Injector) reply(w http.ResponseWriter, status int, rules []Rule) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document{rules})
}

// Client changes the faults of a running embedded Azure.
type Client struct{ http *http.Client }

// NewClient talks to an admin socket; nothing is dialled yet.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Add puts rules behind those that are there and returns them complete.
func (c *Client) Add(ctx context.Context, rules ...Rule) ([]Rule, error) {
	return c.call(ctx, http.MethodPost, "/faults", &document{rules})
}

// List returns the rules.
func (c *Client) List(ctx context.Context) ([]Rule, error) {
	return c.call(ctx, http.MethodGet, "/faults", nil)
}

// Clear removes rules by id, or all when none is named.
func (c *Client) Clear(ctx context.Context, ids ...string) error {
	paths := []string{"/faults"}
	if len(ids) > 0 {
		paths = nil
	}
	for _, id := range ids {
		paths = append(paths, "/faults/"+url.PathEscape(id))
	}
	for _, path := range paths {
		if _, err := c.call(ctx, http.MethodDelete, path, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) call(ctx context.Context, method, path string, in *document) ([]Rule, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://unix"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reaching the embedded Azure: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRequest))
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the embedded Azure: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("the embedded Azure refused: %s", strings.TrimSpace(string(data)))
	}
	var out document
	if resp.StatusCode == http.StatusNoContent {
		return nil, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("the answer of the embedded Azure: %w", err)
	}
	return out.Rules, nil
}
