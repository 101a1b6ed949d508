// Package server lets browsers and programs use the sessions of a runtime over
// HTTP: the API that the existing pi-web client speaks, the stream of a session's
// events, and the page.
//
// The order in which a request is judged is part of the design: request id, rate
// of the address, host, origin, who asks, rate of the user, size and kind of the
// body, then the route. A request that a foreign page may have caused is refused
// before anything looks at it.
//
// Who asks is the person at the machine, or a user of the users file (package
// account). There is one way from a name to a session, lookup, and it
// knows only the sessions that who asks may see; a route without a session in its
// path says for whom it is. The test of isolation goes through the table of routes.
//
// What a client names is looked up, never used: an id is compared with the ids of
// the session files that exist, and no part of a path on disk is made from it.
// Reading a session that is not live opens its file, reads and closes it; only
// sending starts a session.
//
// Each session has one feed. It translates the session's events once (package
// wire), keeps the frames of the running turn, bounded, and lets any number of
// readers follow at their own pace; a reader that is too slow is cut and delays
// nobody.
//
// The package has no rules of its own about sessions: what may be done is decided
// by the rooms below, and one table turns their errors into answers. Text for
// users and text for logs are separate, and logs never carry what people wrote,
// tokens or query strings.
//
// Source of the rules: the web specification §1 and §5, its weaknesses W8, W13,
// W14, W19, W22 and W25, and the server's part of the rulings.
package server
