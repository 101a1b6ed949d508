// Package ignore holds git's ignore rules, exactly, and the walk over a tree
// that obeys them.
//
// A [Rules] knows the rules in force below one folder: the .gitignore files of
// the folders on the way, info/exclude of the repository, the user's own list
// (core.excludesFile) and, where asked for, files of other names such as
// .ignore. Files are read when a walk or a question reaches their folder. An
// excluded folder decides for all that it holds, as in git.
//
// The work is divided: this package owns what git does with a line (parse.go),
// which rule decides (list.go) and whose rules count where (folder.go,
// repository.go); the library go-gitignore matches a single glob, which it gets
// in a form that its translation leaves alone (glob.go). Given git's own lines
// it is wrong in two cases out of five.
//
// Names are bytes with forward slashes, never decoded. Every input is bounded:
// see [MaxFileBytes], [MaxRuleBytes], [MaxRules] and [MaxDepth]; what a bound
// leaves out is reported. The package only reads, follows no link below the
// root, and starts no process.
//
// Source of the rules: gitignore(5), and the behaviour of git check-ignore,
// which the tests hold the code against.
package ignore
