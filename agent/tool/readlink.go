package tool

import (
	"context"
	"fmt"
	"io"
)

// readLink shows what a URL of the session names. It is paged like a file.
func readLink(ctx context.Context, call *Call, args readArgs) (Result, error) {
	body, extracted, err := call.Links.OpenURL(ctx, args.Path)
	if err != nil {
		return Error(fmt.Sprintf("Cannot read %s: %v", args.Path, err)), nil
	}
	defer body.Close()
	if !extracted {
		return readLines(ctx, args, body)
	}
	if args.Offset != nil || args.Limit != nil {
		return Error(fmt.Sprintf("Cannot read %s: an extracted value is shown whole; it cannot be combined with offset or limit.", args.Path)), nil
	}
	// One line of JSON may be long, and cannot be paged.
	data, err := io.ReadAll(io.LimitReader(body, maxExtracted+1))
	if err != nil {
		return Error(fmt.Sprintf("Cannot read %s: %s", args.Path, reason(err))), nil
	}
	if len(data) > maxExtracted {
		return Error(fmt.Sprintf("Cannot read %s: the value is larger than %s. Ask for a part of it, or read the output without a query, by offset and limit.",
			args.Path, formatSize(maxExtracted))), nil
	}
	return Text(string(data)), nil
}

// maxExtracted bounds a value that is shown whole, in bytes.
const maxExtracted = 4 * MaxBytes
