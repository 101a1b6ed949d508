package media

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Problem says why a picture is refused.
type Problem int

// The problems.
const (
	TooLarge    Problem = iota + 1 // more bytes than allowed
	TooWide                        // more pixels than allowed
	NoContent                      // there are no bytes
	NotPicture                     // the bytes are no picture
	BadFormat                      // a format that models do not take
	Broken                         // cut, or damaged
	NotSmall                       // cannot be made small enough to be stored
	NotReadable                    // base64 that is none
	TooMany                        // more pictures than one result may have
	NotInside                      // a part that does not lie in the picture
)

// Error is the refusal of a picture. It never holds the picture's bytes.
type Error struct {
	Problem Problem
	Size    int64  // bytes of the picture, where known
	Limit   int64  // of bytes, where that is the problem
	Looks   string // what it looks like, where known
	Width   int    // as announced, where that is the problem
	Height  int
	Part    Part  // that was asked for, where that is the problem
	Err     error // of the decoder
}

func (e *Error) Error() string {
	switch e.Problem {
	case TooLarge:
		return fmt.Sprintf("the picture is too large: it has %s, and the limit is %s", Size(e.Size), Size(e.Limit))
	case TooWide:
		return fmt.Sprintf("the picture is too large: it has %d×%d pixels, which is more than is decoded", e.Width, e.Height)
	case NoContent:
		return "the picture is empty"
	case NotPicture:
		return fmt.Sprintf("the content is no picture: its %s look like %s", Size(e.Size), e.Looks)
	case BadFormat:
		return fmt.Sprintf("the picture format is not supported: %s; PNG, JPEG, GIF and WebP are", e.Looks)
	case Broken:
		return "the picture is damaged or cut short: " + e.reason()
	case NotSmall:
		return "the picture cannot be made small enough to be sent"
	case TooMany:
		return "there are too many pictures in one result"
	case NotInside:
		return fmt.Sprintf("the part %v does not lie in the picture, which has %d×%d pixels", e.Part, e.Width, e.Height)
	case NotReadable:
		return "the picture's data is no valid base64"
	}
	return "the picture cannot be used"
}

func (e *Error) reason() string {
	switch {
	case e.Err == nil:
		return "it cannot be decoded"
	case errors.Is(e.Err, io.ErrUnexpectedEOF), errors.Is(e.Err, io.EOF):
		return "it ends too early"
	}
	return e.Err.Error()
}

// Unwrap gives the decoder's error.
func (e *Error) Unwrap() error { return e.Err }

// About is the text for the model that asked for the file name. It begins with
// the word that the picture specification 1.3 asks for.
func (e *Error) About(name string) string {
	switch e.Problem {
	case TooLarge:
		size := Size(e.Size)
		if size == Size(e.Limit) { // a little too large is too large
			size = strconv.FormatInt(e.Size, 10) + " bytes"
		}
		return fmt.Sprintf("Error: the file is too large (%s); the limit for a picture is %s: %s", size, Size(e.Limit), name)
	case TooWide:
		return fmt.Sprintf("Error: the picture has too many pixels (%d×%d): %s. Make a smaller copy and read that.", e.Width, e.Height, name)
	case NoContent:
		return "Error: the picture is empty (0 bytes): " + name
	case NotPicture:
		hint := ""
		if isText(e.Looks) {
			hint = "; read it as text under another name, for example with bash"
		}
		return fmt.Sprintf("Error: the picture format is not supported or the content is not valid: %s. Its %s look like %s%s.", name, Size(e.Size), e.Looks, hint)
	case BadFormat:
		return fmt.Sprintf("Error: the picture format is not supported (%s): %s. PNG, JPEG, GIF and WebP are; convert it and read the copy.", e.Looks, name)
	case NotInside:
		return fmt.Sprintf("Error: the part %v does not lie in the picture, which has %d×%d pixels: %s. Choose one that does; x and y count from the top left corner.", e.Part, e.Width, e.Height, name)
	case NotSmall:
		return "Error: the picture cannot be made small enough to be sent: " + name
	}
	return fmt.Sprintf("Error: the picture format is not supported or the content is not valid: %s (%s).", name, e.reason())
}

// Size writes a number of bytes for people: KB as a whole number, MB with one
// decimal unless that is 0.
func Size(n int64) string {
	const kb, mb = 1 << 10, 1 << 20
	switch {
	case n < kb:
		return strconv.FormatInt(n, 10) + " bytes"
	case (n+kb/2)/kb < kb:
		return strconv.FormatInt((n+kb/2)/kb, 10) + " KB"
	}
	tenths := (n*10 + mb/2) / mb
	if tenths%10 == 0 {
		return strconv.FormatInt(tenths/10, 10) + " MB"
	}
	return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + " MB"
}
