// The shapes that the page works with, for the type checker only. What the
// server sends is checked where it is used: a missing field must not break a page.

/**
 * @typedef {"chat-only" | "pinned" | "open" | "child" | "refused"} Kind
 *
 * @typedef {object} SessionItem One line of the list.
 * @property {string} sessionId
 * @property {string} cwd
 * @property {string} createdAt
 * @property {string} [updatedAt]
 * @property {string} [name]
 * @property {string} [firstMessage]
 * @property {number} [messageCount]
 * @property {string} [tools]
 * @property {string} [kind]
 * @property {string} [path]
 * @property {string} [problem]
 * @property {string} [activity]
 * @property {{parentSessionId?: string, profile: string, description: string, status: string}} [subagent] whose child it is
 *
 * @typedef {object} SearchHit A text of a session in which something was found.
 * @property {string} sessionId
 * @property {string} cwd
 * @property {string} title
 * @property {string} [updatedAt]
 * @property {string} entryId
 * @property {string} where the role of a message, or custom, summary, name, label
 * @property {{text: string, hit?: boolean}[]} snippet
 *
 * @typedef {object} Bootstrap
 * @property {string} [version]
 * @property {string} [agentDir]
 * @property {string} [sessionsDir]
 * @property {boolean} [offlineOnly]
 * @property {string} [defaultCwd]
 * @property {string} [defaultSource]
 * @property {boolean} [demoAvailable]
 *
 * @typedef {object} Model
 * @property {string} id
 * @property {string} provider
 * @property {string} [name]
 * @property {string[]} [thinkingLevels]
 *
 * @typedef {object} ToolInfo
 * @property {string} name
 * @property {string} [description]
 * @property {boolean} allowed
 * @property {string} [why]
 *
 * @typedef {object} ToolsAnswer What the session may use, and what there is.
 * @property {Kind} kind
 * @property {{by: string, entry?: string}} source
 * @property {string[]} tools
 * @property {string} preset
 * @property {ToolInfo[]} available
 *
 * @typedef {object} Receipt
 * @property {{kind: string, source: {by: string, entry?: string}}} policy
 * @property {{sha256: string, bytes: number}} system
 * @property {{name: string}[]} tools
 * @property {string} model
 *
 * @typedef {object} Check
 * @property {string} entry
 * @property {number} line
 * @property {Receipt} receipt
 * @property {string[] | null} differences
 * @property {string[] | null} notes
 *
 * @typedef {object} Moment Something in the file that bears on the policy.
 * @property {string} entry
 * @property {number} line
 * @property {string} [after] the last message before it
 * @property {"selection" | "declaration" | "subagent" | "receipt"} what
 * @property {boolean} counts
 * @property {Kind} kind
 * @property {string[] | null} tools null where the settings decide
 * @property {string} text
 * @property {string} [head] sha256 of the prompt that was sent
 * @property {number} [bytes]
 * @property {string} [model]
 * @property {boolean} [holds]
 *
 * @typedef {object} MomentRow
 * @property {"moment"} kind
 * @property {string} key
 * @property {Moment[]} moments
 * @property {number} [time]
 *
 * @typedef {object} Explanation The five steps: read, decide, load, ask, record.
 * @property {any} read
 * @property {{kind: Kind, source: {by: string, entry?: string}, tools: string[], loads: Record<string, boolean>, prompt: string, trail: {by: string, decided: boolean, text: string}[], error?: string}} decide
 * @property {{folder: string, warning?: string, error?: string, head: {sha256: string, bytes: number, text: string}, sources: {path: string, sha256: string}[], left: {path: string, reason: string}[], tools: {name: string}[], missing: string[], trust: string, confined?: boolean}} load
 * @property {{sessionModel?: string, model?: string, notice?: string, error?: string, thinking?: string, system: boolean, messages: number, tools: string[]}} ask
 * @property {{receipts: Check[], history?: Moment[], next: string, edited: string[]}} record
 *
 * @typedef {object} TextPart
 * @property {"text"} type
 * @property {string} id
 * @property {string} text
 *
 * @typedef {object} ThinkingPart
 * @property {"thinking"} type
 * @property {string} id
 * @property {string} text
 * @property {boolean} [redacted]
 * @property {boolean} [open] still being written
 *
 * @typedef {object} ToolPart
 * @property {"tool"} type
 * @property {string} id
 * @property {string} name
 * @property {any} input
 * @property {string} [change] what it changed in a file
 * @property {string} [result] the entry that holds its result
 * @property {"running" | "done" | "error" | "lost"} state
 * @property {string} output
 * @property {Picture[]} images
 * @property {AttachedFile[]} [files] that the tool made
 * @property {string} [error]
 * @property {boolean} [preliminary]
 * @property {number} [startedAt] Unix milliseconds, while running
 * @property {number} [durationMs]
 *
 * @typedef {TextPart | ThinkingPart | ToolPart} Part
 *
 * @typedef {object} Picture
 * @property {string} src
 * @property {string} [whole] address of the whole picture, where src is a small one
 * @property {string} label
 *
 * @typedef {object} AttachedFile
 * @property {string} id
 * @property {string} name "" where only the id is known
 * @property {string} mimeType
 * @property {number} size 0 where it is not known
 * @property {string} url signed, and good for a while; "" where the session may not open it
 *
 * @typedef {object} UserRow
 * @property {"user"} kind
 * @property {string} key
 * @property {"removed" | "replaced"} [edited] the model is shown it otherwise
 * @property {string} text
 * @property {Picture[]} images
 * @property {AttachedFile[]} [files]
 * @property {number} [time]
 * @property {boolean} [pending]
 *
 * @typedef {object} AssistantRow
 * @property {"assistant"} kind
 * @property {string} key
 * @property {"removed" | "replaced"} [edited] the model is shown it otherwise
 * @property {Part[]} parts
 * @property {number} [time]
 * @property {string} [model]
 * @property {string} [provider]
 * @property {number} [durationMs]
 * @property {any} [usage] what the answer used, as the file has it
 * @property {string} [error]
 * @property {boolean} [aborted]
 * @property {boolean} [cut] the answer reached its length limit
 * @property {boolean} [live]
 *
 * @typedef {object} NoteRow
 * @property {"note"} kind
 * @property {string} key
 * @property {string} title
 * @property {string} text
 * @property {number} [time]
 * @property {boolean} [plain] text is no markdown
 *
 * @typedef {UserRow | AssistantRow | NoteRow | MomentRow} Row
 */
export {};
