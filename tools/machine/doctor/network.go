package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

// answerLimit is how long a server may take.
const answerLimit = 5 * time.Second

// Debuginfod checks that a server of those in $DEBUGINFOD_URLS answers.
func Debuginfod(ctx context.Context) Finding {
	servers, err := buildid.FromEnvironment()
	switch {
	case err != nil:
		return Wrong("%v", err)
	case servers == nil:
		return Missing(
			"$%s names no server for debug files; https://debuginfod.elfutils.org is one for most systems",
			buildid.URLsEnv)
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var wrong []string
	for _, url := range servers.URLs {
		// Nothing has this build ID: any answer to that is the server's.
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			strings.TrimRight(url, "/")+"/buildid/"+strings.Repeat("0", 40)+"/debuginfo", nil)
		if err != nil {
			return Wrong("%v", err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusOK {
			return Found("%s answers", url)
		}
		wrong = append(wrong, fmt.Sprintf("%s says %s", url, answer.Status))
	}
	return Wrong("%s; look at the network and $%s", strings.Join(wrong, "; "), buildid.URLsEnv)
}
