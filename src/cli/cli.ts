// The environment of a command: its two output streams, standard input, environment variables and directory.

import { Screen } from "./text/screen.ts";

export interface Cli {
  /** Results. */
  readonly out: Screen;
  /** Questions, progress, log lines, errors. */
  readonly err: Screen;
  readonly stdin: NodeJS.ReadStream;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export function processCli(): Cli {
  const { stdout, stderr, stdin, env } = process;
  return {
    out: new Screen(stdout, env),
    err: new Screen(stderr, env),
    stdin,
    env,
    cwd: process.cwd(),
  };
}
