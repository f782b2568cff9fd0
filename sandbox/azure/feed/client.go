package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// pollTimeout is how long the server holds one request without news.
const pollTimeout = 25 * time.Second

// Client reads the feed on the admin socket of the embedded Azure.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient makes a client; nothing is dialled yet.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Watch blocks until there is a state newer than the revision after (0: any state) and returns it, or until ctx ends.
// Errors are for the caller to retry: the server may be restarting.
func (c *Client) Watch(ctx context.Context, after uint64) (Snapshot, error) {
	for {
		snap, fresh, err := c.poll(ctx, after)
		if err != nil || fresh {
			return snap, err
		}
	}
}

func (c *Client) poll(ctx context.Context, after uint64) (snap Snapshot, fresh bool, err error) {
	url := fmt.Sprintf("http://unix/machines?after=%d&timeout=%s", after, pollTimeout)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return snap, false, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return snap, false, fmt.Errorf("reading the machines of the embedded Azure: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return snap, false, nil
	default:
		return snap, false, statusError("reading the machines", resp)
	}
	if err := json.NewDecoder(resp.Body).Decode(&snap); err != nil {
		return snap, false, fmt.Errorf("reading the machines of the embedded Azure: %w", err)
	}
	return snap, true, nil
}

// Report tells the power state of a machine. A machine that is gone is no error.
func (c *Client) Report(ctx context.Context, status Status) error {
	body, err := json.Marshal(status)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://unix/machines/status", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("reporting the state of machine %s: %w", status.ID, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return statusError("reporting the state of machine "+status.ID, resp)
	}
	return nil
}

func statusError(what string, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	return fmt.Errorf("%s: the embedded Azure answered %s: %s", what, resp.Status, strings.TrimSpace(string(text)))
}
