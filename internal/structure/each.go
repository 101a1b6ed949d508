package structure

// Each calls field for each field of a JSON object, in order, with its key without
// escapes and the bytes of its value. A key that repeats is told each time: let the
// last one win. It tells nothing of what is no object, and stops where the shape is
// not that of JSON.
func Each(object []byte, field func(key string, value []byte)) {
	if i := Space(object, 0); i < len(object) && object[i] == '{' {
		Shape.Fields(object, i, MaxDepth, func(key []byte, at int) int {
			end := Shape.Value(object, at, MaxDepth-1)
			if end > 0 {
				field(toText(Alias(Key(key))), object[at:end])
			}
			return end
		})
	}
}

// Items calls item with the bytes of each element of a JSON array, as Each does.
func Items(array []byte, item func(value []byte)) {
	i := Space(array, 0)
	if i >= len(array) || array[i] != '[' {
		return
	}
	if i = Space(array, i+1); i < len(array) && array[i] == ']' {
		return
	}
	for i < len(array) {
		end := Shape.Value(array, i, MaxDepth-1)
		if end < 0 {
			return
		}
		item(array[i:end])
		if i = Space(array, end); i >= len(array) || array[i] != ',' {
			return
		}
		i = Space(array, i+1)
	}
}

// Get is the value of a key of a JSON object, the last where it repeats; nil where
// there is none.
func Get(object []byte, key string) (found []byte) {
	Each(object, func(k string, value []byte) {
		if k == key {
			found = value
		}
	})
	return found
}

// Tight tells whether no white space stands outside of the strings of a JSON value.
func Tight(value []byte) bool {
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case c == '"':
			if i = jumpString(value, i+1); i < 0 {
				return false
			}
			continue
		case c <= ' ':
			return false
		}
		i++
	}
	return true
}
