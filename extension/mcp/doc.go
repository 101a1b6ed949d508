// Package mcp gives normal sessions the tools of MCP servers.
//
// Servers are named in mcp.json of the agent directory and, where the project is
// trusted, of <cwd>/.pi; the format is the one that other clients share. A [Pool]
// runs each server once per configuration, working folder and trust, however many
// sessions use it, and ends it with the last of them. A session's extension (see
// [Pool.Factory]) offers its tools as mcp__server__tool. Chat Only constructs no
// extension, so no server is started, asked or even read of.
//
// What a server says is not to be trusted: names are spelled anew, descriptions
// and schemas are bounded and lose what a person cannot see, answers are bounded
// in bytes and time, and a hint that a tool only reads decides nothing but whether
// a session that only reads may have it (package policy). A server that is slow,
// dead or out of its mind never holds up a prompt: what it has is offered when it
// comes.
//
// What may be touched here: the servers' processes and addresses, mcp.json, and a
// folder of remembered tool lists that may be deleted at any time. Nothing here
// knows sessions, and no type of the SDK leaves the package.
//
// Source of the rules: pi 1.6.0, "MCP servers"; the Model Context Protocol.
package mcp
