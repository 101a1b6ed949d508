// Package config reads what a user of pi has set up: the agent directory,
// settings, models, keys and trust, as pi 1.6.0 lays them out.
//
// [Load] reads everything for one working folder and reports instead of
// failing: a broken file becomes a [Problem] that names the file, the place and
// what to do, and the rest goes on with defaults. A model is found by name with
// [Models.Find] and made usable, with its key, by [Models.Connect].
//
// What may be touched here: reading the files of the agent directory and of the
// project's .pi folder, and running the key commands that the user has written
// there, when a key is asked for and not before. What may not: writing any of
// these files, asking the user, talking to a provider, or keeping state outside
// the values returned. The environment, the home folder and the working folder
// are handed in with [Env].
//
// A key is a [Secret] from the moment it is read; nothing that prints, logs or
// encodes a value of this package shows it, and no error repeats a value that
// may hold one.
//
// Source of the rules: spec/pi.md §1.1, §3.6 and §8, spec/policy.md §4.9,
// RULINGS 7 and 13. Departures are named where they are made.
package config
