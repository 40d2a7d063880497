// The dashboard on a port of this machine, for `ui` and `dev`.

import { spawn } from "node:child_process";
import type { Client } from "../client/client.ts";
import type { LogSink } from "../core/log.ts";
import { serve, tokensFromFile, type Listening } from "../server/index.ts";
import type { DashboardOptions } from "./dashboard-options.ts";
import { CliError } from "./exit-codes.ts";

export async function startDashboard(
  client: Client,
  options: DashboardOptions,
  log: LogSink,
): Promise<Listening> {
  const { port, host, readOnly, tokens, allowHost, basePath } = options;
  try {
    return await serve(client, {
      log,
      ...(port === undefined ? {} : { port }),
      ...(host === undefined ? {} : { host }),
      ...(readOnly === true ? { readOnly } : {}),
      ...(tokens === undefined ? {} : { tokens: tokensFromFile(tokens) }),
      ...(allowHost === undefined ? {} : { hosts: allowHost }),
      ...(basePath === undefined ? {} : { basePath }),
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EADDRINUSE") throw error;
    throw new CliError(
      "USAGE",
      "The port is taken: give another with --port, or 0 for a free one.",
    );
  }
}

/** With the token behind the #, which browsers keep to themselves. */
export function addressWithToken({ url, token }: Listening): string {
  return token === undefined ? url : `${url}/#token=${token}`;
}

/**
 * Asks the desktop to show it. Without a desktop nothing happens: the address has been printed. The address is an argument
 * of a process, which every user of the machine can read; so it holds a code that works once, not the token.
 */
export function openBrowser({ url, server }: Listening, env: NodeJS.ProcessEnv): void {
  const hasDesktop = env["DISPLAY"] !== undefined || env["WAYLAND_DISPLAY"] !== undefined;
  if (process.platform === "linux" && !hasDesktop) return;
  const code = server.loginCode();
  const address = code === undefined ? url : `${url}/#code=${code}`;
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", address]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler", address]
        : ["xdg-open", address];
  const opener = spawn(command ?? "", args, { stdio: "ignore", detached: true });
  opener.once("error", () => undefined); // there is no such program
  opener.unref();
}
