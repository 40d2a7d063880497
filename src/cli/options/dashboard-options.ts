// The dashboard's options. They are separate from dashboard.ts, because help needs them and loading the
// server is slow.

import type { Command } from "commander";
import { wholeNumber } from "./numbers.ts";

export interface DashboardOptions {
  readonly port?: number;
  readonly host?: string;
  readonly open?: boolean;
  readonly readOnly?: true;
  readonly tokens?: string;
  readonly allowHost?: readonly string[];
  readonly basePath?: string;
}

export function addDashboardOptions(command: Command): Command {
  return command
    .option("--port <number>", "port (default: 8787; 0 picks a free port)", wholeNumber(0, 65_535))
    .option("--host <address>", "listen address (default: this machine; others need --tokens)")
    .option("--tokens <file>", "a file of access tokens; reloaded when it changes")
    .option("--allow-host <name...>", "accept this host name in requests")
    .option("--base-path <path>", "the path prefix of a reverse proxy, such as /perdure")
    .option("--read-only", "refuse all changes")
    .option("--no-open", "do not open a browser");
}
