package server

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/server/wire"
)

// The API's own description: one OpenAPI document, held against the routes and the
// answers by the tests of this package, and a page that is made of it.

//go:embed openapi.json
var apiDocument []byte

//go:embed openapi.html
var apiTemplate string

//go:embed openapi.css
var apiStyle string

func (s *Server) addDocumentRoutes() {
	rt := &s.routes
	rt.add("GET", "openapi.json", s.getDocument)
	rt.is(shared)
	rt.add("GET", "docs", s.getDocumentPage)
	rt.is(shared)
}

func (s *Server) getDocument(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	w.Header().Set("Content-Type", "application/json")
	return sendDocument(w, r, apiDocument)
}

// getDocumentPage gives the document to people. It needs no script, and its style
// stands in it, let through by its hash.
func (s *Server) getDocumentPage(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	page, err := documentPage()
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(apiStyle))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	return sendDocument(w, r, page)
}

func sendDocument(w http.ResponseWriter, r *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	tag := fmt.Sprintf(`W/"%x"`, sum[:12]) // weak: it may be compressed or not
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set(versionHeader, wire.ProtocolVersion)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	sendBody(w, r, http.StatusOK, body)
	return nil
}

// apiDoc is the part of the document that the page shows.
type apiDoc struct {
	Info struct {
		Title, Version, Summary, Description string
	}
	Tags  []struct{ Name string }
	Paths map[string]map[string]json.RawMessage

	Components struct {
		Responses map[string]struct{ Description string }
		Schemas   map[string]*apiSchema
	}
}

type apiOperation struct {
	// Where it stands, which is not in it.
	Method, Path string
	Root         bool // not below /api

	Tags                 []string
	OperationID          string `json:"operationId"`
	Summary, Description string
	Security             []map[string][]string
	Parameters           []apiParameter
	RequestBody          *struct {
		Content map[string]apiMedia
	} `json:"requestBody"`
	Responses map[string]struct {
		Ref         string `json:"$ref"`
		Description string
		Content     map[string]apiMedia
	}
}

type apiParameter struct {
	Name, In, Description string
	Required              bool
	Schema                *apiSchema
}

type apiMedia struct {
	Schema  *apiSchema
	Example json.RawMessage
}

type apiSchema struct {
	Ref                  string `json:"$ref"`
	Description          string
	Type                 json.RawMessage
	Enum                 []json.RawMessage
	Const, Default       json.RawMessage
	Items                *apiSchema
	Properties           orderedSchemas
	Required             []string
	OneOf, AnyOf         []*apiSchema
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
}

// orderedSchemas are the properties of an object in the order of the document.
type orderedSchemas []apiProperty

type apiProperty struct {
	Name   string
	Schema *apiSchema
}

func (o *orderedSchemas) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		p := apiProperty{Name: fmt.Sprint(key)}
		if err := d.Decode(&p.Schema); err != nil {
			return err
		}
		*o = append(*o, p)
	}
	return nil
}

// Name is the name of the schema that this one refers to, or "".
func (s *apiSchema) Name() string {
	return strings.TrimPrefix(s.Ref, "#/components/schemas/")
}

// Words say of a schema what kind of value it is.
func (s *apiSchema) Words() string {
	switch {
	case s == nil:
		return "anything"
	case len(s.Const) > 0:
		return string(s.Const)
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, e := range s.Enum {
			words[i] = string(e)
		}
		return strings.Join(words, " | ")
	case len(s.OneOf)+len(s.AnyOf) > 0:
		return ""
	case s.Items != nil:
		return "list"
	}
	var one string
	var many []string
	switch {
	case json.Unmarshal(s.Type, &one) == nil:
		return one
	case json.Unmarshal(s.Type, &many) == nil:
		return strings.Join(many, " | ")
	}
	return "anything"
}

// Choices are the forms that a value may have.
func (s *apiSchema) Choices() []*apiSchema { return append(slices.Clone(s.OneOf), s.AnyOf...) }

// Needs tells whether a property must be there.
func (s *apiSchema) Needs(name string) bool { return slices.Contains(s.Required, name) }

// DefaultText is the default as it is written, or "".
func (s *apiSchema) DefaultText() string { return string(s.Default) }

// Open tells whether the address wants no token.
func (o apiOperation) Open() bool { return o.Security != nil && len(o.Security) == 0 }

// Full is the address as it is asked for.
func (o apiOperation) Full() string {
	if o.Root {
		return o.Path
	}
	return "/api" + o.Path
}

// apiGroup are the operations of a tag.
type apiGroup struct {
	Name, ID   string
	Operations []apiOperation
}

var apiMethods = []string{"get", "post", "put", "patch", "delete"}

// groups are the operations by tag, in the order of the document's tags and then of
// paths.
func (d apiDoc) groups() ([]apiGroup, error) {
	paths := make([]string, 0, len(d.Paths))
	for p := range d.Paths {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	byTag := map[string][]apiOperation{}
	for _, p := range paths {
		_, root := d.Paths[p]["servers"]
		for _, m := range apiMethods {
			raw, ok := d.Paths[p][m]
			if !ok {
				continue
			}
			o := apiOperation{Method: strings.ToUpper(m), Path: p, Root: root}
			if err := json.Unmarshal(raw, &o); err != nil {
				return nil, fmt.Errorf("%s %s: %w", m, p, err)
			}
			byTag[o.Tags[0]] = append(byTag[o.Tags[0]], o)
		}
	}
	var groups []apiGroup
	for _, t := range d.Tags {
		groups = append(groups, apiGroup{t.Name, "tag-" + strings.ReplaceAll(strings.ToLower(t.Name), " ", "-"), byTag[t.Name]})
	}
	return groups, nil
}

// documentPage makes the page once.
var documentPage = sync.OnceValues(func() ([]byte, error) {
	var d apiDoc
	if err := json.Unmarshal(apiDocument, &d); err != nil {
		return nil, fmt.Errorf("the description of the API: %w", err)
	}
	groups, err := d.groups()
	if err != nil {
		return nil, fmt.Errorf("the description of the API: %w", err)
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"prose": prose, "indent": indentJSON}).Parse(apiTemplate)
	if err != nil {
		return nil, fmt.Errorf("the page of the API: %w", err)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"Info": d.Info, "Groups": groups, "Schemas": d.Components.Schemas, "Common": d.Components.Responses["Error"].Description,
		"Style": template.CSS(apiStyle)}) // our own
	return b.Bytes(), err
})

// prose writes the paragraphs of a text, with `code` and **strong** words.
func prose(text string) template.HTML {
	var b strings.Builder
	for _, p := range strings.Split(text, "\n\n") {
		b.WriteString("<p>")
		for i, part := range strings.Split(template.HTMLEscapeString(p), "`") {
			switch {
			case i%2 == 1:
				b.WriteString("<code>" + part + "</code>")
			default:
				for k, word := range strings.Split(part, "**") {
					if k%2 == 1 {
						word = "<strong>" + word + "</strong>"
					}
					b.WriteString(word)
				}
			}
		}
		b.WriteString("</p>")
	}
	return template.HTML(b.String()) // escaped above
}

func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
