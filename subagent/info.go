package subagent

import "strings"

// ProfileInfo is a profile as programs are told of it.
type ProfileInfo struct {
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	File        string   `json:"file,omitempty"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description"`
	Enabled     bool     `json:"enabled"`
	Overridden  bool     `json:"overridden"` // a stronger source has one of the same name
	ChatOnly    bool     `json:"chatOnly"`
	Tools       []string `json:"tools"`
	Selectors   []string `json:"extensionTools"`
	Skills      bool     `json:"loadSkills"`
	Extensions  bool     `json:"loadExtensions"`
	Inherit     bool     `json:"inheritContext"`
	Background  bool     `json:"runInBackground"`
	Mode        string   `json:"promptMode"` // append or replace
	Model       string   `json:"model,omitempty"`
	Thinking    string   `json:"thinking,omitempty"`
	MaxTurns    int      `json:"maxTurns,omitempty"`
	Color       string   `json:"color,omitempty"`
	Isolation   string   `json:"isolation,omitempty"`
	InputFiles  bool     `json:"allowInputFiles"`
	Prompt      string   `json:"systemPrompt"`
	Warnings    []string `json:"warnings"`
}

// Info is what programs are told of a profile.
func (p Profile) Info() ProfileInfo {
	mode := "append"
	if p.Replace {
		mode = "replace"
	}
	return ProfileInfo{p.Name, string(p.Source), p.File, p.DisplayName, p.Description, p.Enabled, p.Overridden, p.ChatOnly(), append([]string{}, p.Tools...),
		append([]string{}, p.Selectors...), p.Skills, p.Extensions, p.InheritContext, p.Background, mode, p.Model, p.Thinking, p.MaxTurns, p.Color,
		p.Isolation, p.AllowInputFiles, p.Prompt, append([]string{}, p.Warnings...)}
}

// ToolWords are the tools that a profile names, or "none".
func (p Profile) ToolWords() string {
	words := append([]string{}, p.Tools...)
	for _, s := range p.Selectors {
		words = append(words, "ext:"+s)
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
