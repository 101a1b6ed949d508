// Package failpoint kills the program at named places, so that a test can see what
// a crash there leaves behind. It does so only in a binary that was built with the
// tag failpoint; in every other one [Here] is nothing.
//
// A name says which two records it stands between. The variable PIWEB_FAILPOINT
// holds the name, or "NAME:N" for the N-th time that the place is reached.
package failpoint
