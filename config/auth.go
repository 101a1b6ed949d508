package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/piweb-go/piweb/config/public"
)

const authHint = "correct the file; until then none of its keys is used"

// credential is an entry of auth.json.
type credential struct {
	key    Secret // a template, not resolved
	env    map[string]Secret
	broken string // why the entry cannot be used: an OAuth login, or a wrong form
}

// readAuth reads auth.json. Only entries of type api_key can be used here; a
// login by OAuth is recognised, so that its owner learns why it does not help.
func readAuth(agentDir string) (map[string]credential, []*Problem) {
	path := filepath.Join(agentDir, "auth.json")
	data, problem := readFile(path, authHint)
	if problem != nil {
		return nil, []*Problem{problem}
	}
	if data == nil {
		return nil, nil
	}
	var problems []*Problem
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			problems = append(problems, &Problem{File: path, What: fmt.Sprintf("its mode is %04o, so others may use the keys in it", info.Mode().Perm()),
				Hint: "chmod 600 " + path, Warning: true, Err: ErrOpenAccess})
		}
	}
	doc, problem := parse(path, data, authHint)
	if problem != nil {
		return nil, append(problems, problem)
	}
	entries, ok := doc.(map[string]any)
	if !ok {
		return nil, append(problems, &Problem{File: path, What: "it holds " + kindOf(doc) + " where an object is expected", Hint: authHint, Err: ErrSchema})
	}
	out := map[string]credential{}
	for _, provider := range slices.Sorted(maps.Keys(entries)) {
		c := credentialOf(entries[provider])
		out[provider] = c
		if c.broken != "" {
			problems = append(problems, &Problem{File: path, Path: provider, What: c.broken,
				Hint: "an API key in models.json or in the environment is used where there is one", Warning: true, Err: ErrValue})
		}
	}
	return out, problems
}

// credentialOf never repeats what an entry holds.
func credentialOf(value any) credential {
	entry, ok := value.(map[string]any)
	if !ok {
		return credential{broken: "expected an object, found " + kindOf(value)}
	}
	switch kind, _ := entry["type"].(string); kind {
	case "api_key":
	case "oauth":
		return credential{broken: "it is a login by OAuth, which piweb cannot use"}
	default:
		return credential{broken: `its type is neither "api_key" nor "oauth"`}
	}
	c := credential{env: map[string]Secret{}}
	switch key := entry["key"].(type) {
	case nil:
	case string:
		c.key = NewSecret(key)
	default:
		return credential{broken: "its key is " + kindOf(key) + " where a string is expected"}
	}
	switch env := entry["env"].(type) {
	case nil:
	case map[string]any:
		for name, value := range env {
			text, ok := value.(string)
			if !ok {
				return credential{broken: "a member of its env is " + kindOf(value) + " where a string is expected"}
			}
			c.env[name] = NewSecret(text)
		}
	default:
		return credential{broken: "its env is " + kindOf(env) + " where an object is expected"}
	}
	return c
}

// keyVariable is the variable in which pi looks for a provider's key, "" where it
// knows none. The names that do not stand in package public are of providers that
// people write into models.json.
func keyVariable(provider string) string {
	if k, ok := public.Find(provider); ok {
		return k.Variable
	}
	switch provider {
	case "azure", "azure-openai-responses":
		return "AZURE_OPENAI_API_KEY"
	case "mistral":
		return "MISTRAL_API_KEY"
	case "nvidia":
		return "NVIDIA_API_KEY"
	case "moonshotai-cn":
		return "MOONSHOT_API_KEY"
	case "together":
		return "TOGETHER_API_KEY"
	}
	return ""
}
