package otlp

import (
	"net/http"
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
			e, url := serve(t, func(n int, _ []string) int {
				if n == 1 {
					return http.StatusNotImplemented
				}
				return 0
			})
			e.other = other
			if st := export(t, url, someCrashes(0, 10)); st.Exported != 10 || st.Refused != 0 || st.Failures != 1 {
				t.Errorf("%+v, want 10 exported after a failure", st)
			}
			if n, most := e.counts(); n != 10 || most != 1 {
				t.Errorf("%d records, one %d times; want 10, each once", n, most)
			}
		})
	}
}

// TestPartial: what is refused is counted, and what a collector says beside its thanks is passed
// on.
func TestPartial(t *testing.T) {
	for _, tt := range []struct {
		rejected          int64
		exported, refused uint64
	}{{1, 0, 10}, {0, 10, 0}, {99, 0, 10}, {-5, 10, 0}} {
		e, url := serve(t, func(int, []string) int { return http.StatusNotImplemented })
		e.other = func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			b, _ := proto.Marshal(&collogs.ExportLogsServiceResponse{PartialSuccess: &collogs.ExportLogsPartialSuccess{
				RejectedLogRecords: tt.rejected, ErrorMessage: "too old"}})
			w.Write(b)
		}
		if st := export(t, url, someCrashes(0, 10)); st.Exported != tt.exported || st.Refused != tt.refused || st.Failures != 0 {
			t.Errorf("%d rejected: %+v, want %d exported and %d refused", tt.rejected, st, tt.exported, tt.refused)
		}
	}
}

// TestRetryAfter: a collector says when to come again, but not in a year; and its status is
// said.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999": maxLater} {
		e, url := serve(t, func(int, []string) int { return http.StatusNotImplemented })
		e.other = func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		x := exporter(t, url)
		over := x.send(t.Context(), someCrashes(0, 1)[0])
		if over || x.answer.later != want || !strings.HasPrefix(x.answer.status(), "status 503 (Service Unavailable)") {
			t.Errorf("Retry-After %q: %v, %q, over %v; want %v", header, x.answer.later, x.answer.status(), over, want)
		}
	}
}
