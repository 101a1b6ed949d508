// Package artifact keeps whole outputs beside the session that they belong to,
// and opens them by artifact:// and agent:// URLs.
//
// A session file NAME.jsonl has a folder NAME beside it. An output of a tool is
// <id>.<tool>.log in there, the answer of a subagent <index>-<name>.md. Other
// files in the folder are somebody else's: they are tolerated, counted and
// carried along, and never changed.
//
// What holds here, and is tested:
//
//   - An id is given once. It is reserved by creating a file that must not exist
//     yet, so any number of processes may save at the same time, and neither a
//     restart nor a fork nor a deleted file brings an id back.
//   - Nothing in the folder is followed: a link, a folder, a pipe under the name
//     of an artifact is refused. The folder itself must not be a link either, and
//     everything is opened through it, so no name leaves it.
//   - Nothing is replaced. What is visible under its final name after a [Store.Save]
//     is whole; what a [Sink] streams grows under its name and is synced when it
//     ends.
//   - Memory is bounded however large an output is, on the way in and out.
//
// The room knows nothing of tools, models or HTTP, and imports only leaves and the
// session's idea of a companion. Source of names and grammar: oh-my-pi's artifact
// store as described in spec/omp.md §1, §5–§11; the weaknesses that it lists in
// §14 have each a test here.
package artifact
