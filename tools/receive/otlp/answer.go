package otlp

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"
)

// What a collector answers. The SDK takes any status 2xx for an acknowledgement, so that a
// proxy's page of a login, or a connection that breaks off in an answer, would lose crashes.

const (
	// maxAnswer is the longest answer in bytes that is read.
	maxAnswer = 1 << 20
	// maxLater bounds what a collector may ask to wait.
	maxLater = 5 * time.Minute
)

// answer is what is known of the latest one.
type answer struct {
	code     int           // 0: none came, or none that can be a collector's
	later    time.Duration // the pause that it asks for
	partial  bool          // it has taken not all, or has something to say of them
	rejected int64
	message  string
}

// hopeless reports whether the very same request will never do.
func (a *answer) hopeless() bool {
	return a.code == http.StatusBadRequest || a.code == http.StatusRequestEntityTooLarge ||
		a.code == http.StatusUnprocessableEntity
}

// answers looks at the answers that pass.
type answers struct {
	next http.RoundTripper
	answer
}

// status is the beginning of a message about an answer that the SDK says little of.
func (a *answers) status() string {
	if a.code == 0 || a.code/100 == 2 { // then it is not the collector that fails
		return ""
	}
	return fmt.Sprintf("status %d (%s): ", a.code, http.StatusText(a.code))
}

// RoundTrip is that of http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.answer = answer{}
	resp, err := a.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		a.later = min(time.Duration(n)*time.Second, maxLater)
	}
	if resp.StatusCode/100 == 2 {
		if err := a.acknowledged(resp); err != nil {
			resp.Body.Close()
			return nil, err
		}
	}
	a.code = resp.StatusCode
	return resp, nil
}

// acknowledged reads an answer that says that all is well, and returns what contradicts it.
func (a *answers) acknowledged(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("its answer broke off: %w", err)
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/html":
		return fmt.Errorf("a web page answers, not a collector: %s", resp.Status)
	case "application/x-protobuf":
		var m collogs.ExportLogsServiceResponse
		if err := proto.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("its answer is not OTLP's: %w", err)
		}
		if p := m.GetPartialSuccess(); p.GetRejectedLogRecords() != 0 || p.GetErrorMessage() != "" {
			a.partial, a.rejected, a.message = true, p.GetRejectedLogRecords(), p.GetErrorMessage()
		}
	}
	return nil
}
