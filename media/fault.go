package media

import (
	"net/http"
	"regexp"
)

// Fault says what a provider's refusal has to do with pictures.
type Fault int

// The faults.
const (
	NoFault   Fault = iota // nothing, as far as its words tell
	BadImage               // one of the pictures cannot be used
	BlindOnes              // the model takes no pictures
	NotInTool              // the model takes none in the results of tools
	TooMuch                // the request is too large, or has too many pictures
)

// Words by which providers tell. What speaks of a damaged picture is looked for
// before what speaks of size, because both may be said at once.
var (
	badImageWords = regexp.MustCompile(`(?i)could not process (the )?(input )?image|unable to process (the )?(input )?image|does not match the provided media type|` +
		`image(s)? (cannot|can't|must not) be empty|image exceeds|dimensions exceed|invalid (png|jpe?g|gif|webp|image)|` +
		`unsupported (image|mime type)|unsupported_image|invalid_image|image_parse_error|(failed|unable) to (decode|parse|read|load) (the )?image|` +
		`image (data )?(is )?(invalid|corrupt|damaged|malformed|unreadable|not supported|could not be (decoded|read|processed))|` +
		`image.{0,60}exceeds? .{0,20}(mb|megabytes|bytes|pixels)|invalid base64|unsupported mime type`)
	inToolWords = regexp.MustCompile(`(?i)(tool_result|tool result|tool message|function_call_output|role.{0,4}tool).{0,120}(image|string|text)|` +
		`image.{0,60}(tool_result|tool result|tool message|function_call_output)|output.{0,40}(must be|expected).{0,10}(a )?string`)
	blindWords = regexp.MustCompile(`(?i)unknown variant .{0,3}(image_url|image|input_image)|(not|n't) support.{0,20}(image|vision|picture|multimodal)|` +
		`no endpoints found that support image|image_url.{0,40}(only supported|not supported|unsupported|not allowed)|(image|vision|multimodal)( input| inputs)? (is|are) not (supported|enabled|allowed)|` +
		`expected .{0,3}text.{0,3}.{0,20}(got|found).{0,12}image|invalid content type.{0,20}image_url|images? input.{0,20}not supported`)
	// tooBigWords speak of Anthropic's limit for one picture, whatever they call it; what
	// speaks of the request is looked for before.
	tooBigWords  = regexp.MustCompile(`(?i)exceeds (the )?5 ?mb`)
	tooMuchWords = regexp.MustCompile(`(?i)too many images|request.{0,20}(too large|exceeds)|payload.{0,20}too large|request_too_large|entity too large|total (image )?(size|bytes)|maximum (request|body) size`)
)

// FaultOf reads a refusal: its HTTP status, 0 for an error inside of an answer,
// and the provider's words. A refusal that does not speak of pictures is
// [NoFault], whatever its status: nothing is taken out of a request on a guess.
func FaultOf(status int, words string) Fault {
	switch status {
	case http.StatusRequestEntityTooLarge:
		if badImageWords.MatchString(words) {
			return BadImage
		}
		return TooMuch
	case 0, http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
	default:
		return NoFault
	}
	switch {
	case badImageWords.MatchString(words):
		return BadImage
	case inToolWords.MatchString(words):
		return NotInTool
	case blindWords.MatchString(words):
		return BlindOnes
	case tooMuchWords.MatchString(words):
		return TooMuch
	case tooBigWords.MatchString(words):
		return BadImage
	}
	return NoFault
}

// RefusedNote is what stands in a session for a picture that a provider refused.
func RefusedNote(what string) string { return words(proseRefused, "{what}", what) }
