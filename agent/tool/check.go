package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	printer "golang.org/x/text/message"

	"github.com/piweb-go/piweb/message"
)

// maxProblems is how many problems an ArgumentError names, so that a long list
// of bad items does not become a long message.
const maxProblems = 8

// ArgumentError says which arguments do not fit a tool's declaration. Its text
// is made for the model that sent them; it never repeats their values.
type ArgumentError struct {
	Tool     string
	Problems []string // at least one, each naming the field and what was expected
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("The arguments of %s do not fit: %s. Correct them and call %s again.",
		e.Tool, strings.Join(e.Problems, "; "), e.Tool)
}

// Check says whether args, a JSON object, fit the declaration's JSON Schema.
// Missing arguments count as an empty object. Fields that the schema does not
// name are accepted unless it forbids them; so are keywords that the validator
// does not know. A schema that cannot be compiled, or that refers to a file or
// an address, checks only that args is an object: a foreign tool with an odd
// schema must stay callable, and nothing is ever fetched.
//
// The error is an [*ArgumentError].
func Check(decl message.ToolDeclaration, args json.RawMessage) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	value, err := decodeOne(args)
	if err != nil {
		return &ArgumentError{Tool: decl.Name, Problems: []string{"they are not valid JSON; expected one object"}}
	}
	if _, ok := value.(map[string]any); !ok {
		return &ArgumentError{Tool: decl.Name, Problems: []string{"expected an object, got " + typeName(value)}}
	}
	schema, err := decodeOne(decl.Parameters)
	if err != nil {
		return nil
	}
	compiled := compileSchema(schema)
	if compiled == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](compiled.Validate(value))
	if !ok {
		return nil
	}
	problems := describeProblems(schema, invalid)
	slices.Sort(problems) // the validator walks maps in any order
	problems = slices.Compact(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return &ArgumentError{Tool: decl.Name, Problems: problems}
}

// compileSchema is nil for a schema that the validator does not understand. A
// $schema of an unknown dialect is a common reason, so it gets a second try
// without.
func compileSchema(schema any) *jsonschema.Schema {
	compile := func(doc any) *jsonschema.Schema {
		const name = "tool:///parameters"
		c := jsonschema.NewCompiler()
		c.UseLoader(noLoader{})
		c.UseRegexpEngine(lenientRegexp)
		if c.AddResource(name, doc) != nil {
			return nil
		}
		compiled, err := c.Compile(name)
		if err != nil {
			return nil
		}
		return compiled
	}
	if compiled := compile(schema); compiled != nil {
		return compiled
	}
	root, ok := schema.(map[string]any)
	if !ok || root["$schema"] == nil {
		return nil
	}
	plain := make(map[string]any, len(root))
	for key, v := range root {
		if key != "$schema" {
			plain[key] = v
		}
	}
	return compile(plain)
}

// noLoader refuses references to files and addresses: a schema may come from a
// server that is not trusted.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("tool: the schema refers to %s, which is never loaded", url)
}

// lenientRegexp compiles a pattern; one of another dialect, say with a
// look-ahead, matches everything.
func lenientRegexp(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return anyText(pattern), nil
	}
	return re, nil
}

type anyText string

func (anyText) MatchString(string) bool { return true }
func (p anyText) String() string        { return string(p) }

// describeProblems turns the validator's tree into one line per bad field.
func describeProblems(schema any, err *jsonschema.ValidationError) []string {
	field := fieldName(err.InstanceLocation)
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		var lines []string
		for _, missing := range k.Missing {
			location := append(slices.Clone(err.InstanceLocation), missing)
			line := fieldName(location) + " is missing"
			if typ := expectedType(schema, location); typ != "" {
				line += ", expected " + typ
			}
			lines = append(lines, line)
		}
		return lines
	case *kind.Type:
		return []string{fmt.Sprintf("%s: expected %s, got %s", field, strings.Join(k.Want, " or "), k.Got)}
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.FalseSchema:
		// The branches contradict each other; listing them all helps nobody.
		return []string{field + ": has none of the forms that the tool accepts"}
	case *kind.Enum:
		return []string{field + ": expected one of " + jsonText(k.Want)}
	case *kind.Const:
		return []string{field + ": expected " + jsonText(k.Want)}
	case *kind.Pattern:
		return []string{field + ": expected text that matches " + k.Want}
	case *kind.Format:
		return []string{field + ": expected the format " + k.Want}
	}
	if len(err.Causes) == 0 {
		return []string{field + ": " + err.ErrorKind.LocalizedString(printer.NewPrinter(language.English))}
	}
	var lines []string
	for _, cause := range err.Causes {
		lines = append(lines, describeProblems(schema, cause)...)
	}
	return lines
}

// fieldName spells the place of a value: edits[0].oldText.
func fieldName(location []string) string {
	var name strings.Builder
	for _, part := range location {
		if _, err := strconv.Atoi(part); err == nil && name.Len() > 0 {
			name.WriteString("[" + part + "]")
			continue
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		name.WriteString(part)
	}
	if name.Len() == 0 {
		return "the object"
	}
	return name.String()
}

// expectedType looks up the type of a field that is not there; "" where the
// schema does not say it in the plain way.
func expectedType(schema any, location []string) string {
	for _, part := range location {
		s := asObject(schema)
		if _, err := strconv.Atoi(part); err == nil && s["items"] != nil {
			schema = s["items"]
		} else {
			schema = asObject(s["properties"])[part]
		}
	}
	typ, _ := asObject(schema)["type"].(string)
	return typ
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	return "number"
}

func jsonText(v any) string {
	data, err := message.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(data), "[]")
}
