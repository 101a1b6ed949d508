// Package message holds what a conversation is made of: messages, their blocks,
// usage and tool declarations, spelled as the pi session format spells them.
//
// The package decodes leniently and encodes exactly. A block that was read from
// a file keeps its raw bytes and is written back as those bytes, so that fields
// we do not know, signatures and number spellings survive. A block that piweb
// made has no raw bytes and is encoded from its fields, in pi's key order.
//
// Nothing here touches a file, a provider or a policy. Roles and blocks that pi
// does not have decode to [Unknown] and [Block] values of their own type; it is
// the request builder of package agent that leaves them out, not the decoder.
//
// Source of the shapes: the pi 1.6.0 format, sections "Messages" and "Entries".
package message
