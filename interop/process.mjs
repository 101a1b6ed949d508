// Runs a program to its end with a deadline.
import { execFile } from "node:child_process";

/**
 * Resolves to {stdout, stderr}; rejects with the command line and its error output.
 * interrupt, if given, is a promise; once it is kept the program gets a SIGINT.
 */
export function runProgram(program, args, { cwd, env, deadline, interrupt }) {
  return new Promise((resolve, reject) => {
    const options = { cwd, env, timeout: deadline, killSignal: "SIGKILL", maxBuffer: 64 << 20 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (!error) return resolve({ stdout, stderr });
      const how = error.killed ? `did not end within ${deadline / 1000} s` : `ended with ${error.signal ?? error.code}`;
      reject(new Error([`${[program, ...args].join(" ")}: ${how}`, tail(stderr), tail(stdout)].filter(Boolean).join("\n")));
    });
    child.stdin.end();
    void interrupt?.then(() => child.kill("SIGINT"));
  });
}

/** The last lines are the ones that tell. */
function tail(text) {
  return text.trim().split("\n").slice(-15).join("\n");
}
