package resource

import (
	"io/fs"
	"os"
	"path/filepath"
)

// PromptFile is a file that replaces or extends the system prompt.
type PromptFile ContextFile

// SystemPrompt returns the SYSTEM.md in force: that of the project's .pi folder
// when the project is trusted and the file can be read, else that of the agent
// directory; never both (spec/pi.md §3.2). It is false where there is neither.
// An empty file is found like any other; that pi takes empty text for no custom
// prompt is for the caller to apply.
//
// Links follow the rule for context files.
func SystemPrompt(p Place) (PromptFile, bool, []Omission) { return promptFile(p, "SYSTEM.md") }

// AppendSystemPrompt returns the APPEND_SYSTEM.md in force, by the rules of
// SystemPrompt.
func AppendSystemPrompt(p Place) (PromptFile, bool, []Omission) {
	return promptFile(p, "APPEND_SYSTEM.md")
}

func promptFile(p Place, name string) (PromptFile, bool, []Omission) {
	r := newReader(p)
	var f ContextFile
	ok := false
	if p.Trusted && p.Cwd != "" {
		dir := filepath.Join(p.Cwd, ".pi")
		read := r.read
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			read = r.readThroughLink // the file is as far away as the folder
		}
		f, ok = read(filepath.Join(dir, name))
	}
	if !ok && p.AgentDir != "" {
		f, ok = r.read(filepath.Join(p.AgentDir, name))
	}
	return PromptFile(f), ok, r.omissions
}
