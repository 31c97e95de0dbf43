package otlp

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"
)

// TestNoAcknowledgement: a status of 200 alone does not say that a collector has them.
func TestNoAcknowledgement(t *testing.T) {
	for name, other := range map[string]func(http.ResponseWriter){
		"a web page": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Write([]byte("<html>Log in</html>"))
		},
		"no OTLP": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.Write([]byte("<html>"))
		},
		"broken off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.Header().Set("Content-Length", "100")
			w.Write([]byte{})
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, path := open(t)
			add(t, s, someCrashes(0, 10))
			e, url := serve(t, func(n int, _ []string) int {
				if n == 1 {
					return http.StatusNotImplemented
				}
				return 0
			})
			e.other = other
			if st := export(t, url, s, path); st.Exported != 10 || st.Refused != 0 || st.Failures != 1 {
				t.Errorf("%+v, want 10 exported after a failure", st)
			}
			if n, most := e.counts(); n != 10 || most != 1 {
				t.Errorf("%d records, one %d times; want 10, each once", n, most)
			}
		})
	}
}

// TestPartial: what is refused of a request is counted, the others are exported.
func TestPartial(t *testing.T) {
	for _, tt := range []struct {
		rejected          int64
		exported, refused uint64
	}{{3, 7, 3}, {0, 10, 0}, {99, 0, 10}, {-5, 10, 0}} {
		s, path := open(t)
		add(t, s, someCrashes(0, 10))
		e, url := serve(t, func(int, []string) int { return http.StatusNotImplemented })
		e.other = func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			b, _ := proto.Marshal(&collogs.ExportLogsServiceResponse{PartialSuccess: &collogs.ExportLogsPartialSuccess{
				RejectedLogRecords: tt.rejected, ErrorMessage: "too old"}})
			w.Write(b)
		}
		if st := export(t, url, s, path); st.Exported != tt.exported || st.Refused != tt.refused || st.Failures != 0 {
			t.Errorf("%d rejected: %+v, want %d exported and %d refused", tt.rejected, st, tt.exported, tt.refused)
		}
	}
}

// TestRetryAfter: a collector says when to come again, but not in a year; and its status is
// said.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999": maxLater} {
		s, path := open(t)
		add(t, s, someCrashes(0, 1))
		e, url := serve(t, func(int, []string) int { return http.StatusNotImplemented })
		e.other = func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		x, err := New(t.Context(), url, s, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.step(t.Context())
		if err == nil || x.answer.later != want || !strings.HasPrefix(x.answer.status(), "status 503 (Service Unavailable)") {
			t.Errorf("Retry-After %q: %v, %q, %v; want %v", header, x.answer.later, x.answer.status(), err, want)
		}
		// What it has answered is no answer to what fails here.
		if err := os.WriteFile(path, []byte("no store"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err = x.step(t.Context()); err == nil || x.answer.later != 0 || x.answer.status() != "" {
			t.Errorf("without a store: %v, %q, %v", x.answer.later, x.answer.status(), err)
		}
		x.Close()
	}
}
