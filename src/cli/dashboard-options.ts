// The options of the dashboard, apart from it: help needs them, and the server takes a while to load.

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
    .option("--port <number>", "port (8787; 0 takes a free one)", wholeNumber(0, 65_535))
    .option("--host <address>", "where to listen (this machine alone; elsewhere needs --tokens)")
    .option("--tokens <file>", "who may come in: a file of tokens, read again when it changes")
    .option("--allow-host <name...>", "a name that browsers reach it by, besides addresses")
    .option("--base-path <path>", "the prefix that a proxy in front adds, such as /perdure")
    .option("--read-only", "show, and change nothing")
    .option("--no-open", "do not open a browser");
}
