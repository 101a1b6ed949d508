package modeltest

import "strings"

// NamedHead is a head with the name of what is hard about it.
type NamedHead struct{ Name, Text string }

// Heads returns system prompts that are easily damaged: trimmed, escaped,
// normalised, cut or taken for templates on the way. All are valid UTF-8; none is
// empty. A provider gets each one through byte for byte.
func Heads() []NamedHead {
	return []NamedHead{
		{"plain", "You are helpful."},
		{"one trailing newline", "line\n"},
		{"many newlines around", "\n\n\nline\n\n\n"},
		{"only a newline", "\n"},
		{"only spaces", "   "},
		{"tabs and trailing spaces", "\tindented\t \n  two  \t"},
		{"carriage returns", "one\r\ntwo\rthree\r\n"},
		{"U+2028 and U+2029", "a\u2028b\u2029c"},
		{"quotes and backslashes", `"quoted" 'single' \n \\ \u0041 C:\dir\`},
		{"markup", `<tag attr="v">x</tag> & "q" &amp; <![CDATA[y]]> <!-- z -->`},
		{"braces and placeholders", "{name} {{.Name}} ${HOME} $1 %s %d %% {%raw%}"},
		{"json inside", `{"role":"system","content":null}`},
		{"CJK", "你是助手。日本語も、한국어도。「引用」"},
		{"emoji with joiners", "👩‍👩‍👧‍👦 🇪🇺 👍🏽 🏳️‍🌈"},
		{"combining and composed", "e\u0301 \u00e9 \uac00 \u1100\u1161"},
		{"right to left", "שלום \u202eabc\u202c مرحبا"},
		{"leading byte order mark", "\ufeffbegin"},
		{"zero width and soft hyphen", "a\u200bb\u00adc\u2060d\ufeff"},
		{"control characters", "nul\x00bell\x07esc\x1b[31m\x7f"},
		{"replacement and noncharacters", "\ufffd \uffff \U0010ffff"},
		{"private use and astral", "\ue000 \U0001d54a \U000f0000"},
		{"chat template marks", "<|im_start|>system\n<|im_end|> [INST] <<SYS>> </s>"},
		{"one megabyte", strings.Repeat("0123456789 äöü 漢字 🌊\n", 1<<20/30+1)},
	}
}
