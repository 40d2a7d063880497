// Starts the dashboard on a port of this machine, for `perdure ui` and `perdure dev`.

import { spawn } from "node:child_process";
import type { Client } from "../client/client.ts";
import type { LogSink } from "../core/telemetry/log.ts";
import { defined } from "../core/values/defined.ts";
import { serve, tokensFromFile, type Listening } from "../server/index.ts";
import type { DashboardOptions } from "./options/dashboard-options.ts";
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
      ...defined({ port, host }),
      ...(readOnly === true ? { readOnly } : {}),
      ...(tokens === undefined ? {} : { tokens: tokensFromFile(tokens) }),
      ...defined({ hosts: allowHost, basePath }),
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EADDRINUSE") throw error;
    throw new CliError(
      "USAGE",
      "The port is already in use. Choose another one with --port; --port 0 picks a free port.",
    );
  }
}

/** The address with the token in its fragment (#). Browsers do not send the fragment to any server. */
export function addressWithToken({ url, token }: Listening): string {
  return token === undefined ? url : `${url}/#token=${token}`;
}

/**
 * Opens the dashboard in the user's browser. Does nothing without a desktop; the command has printed the
 * address. Every user of the machine can read the arguments of a process. The address therefore carries a
 * single-use login code, not the token.
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
  opener.once("error", () => undefined); // the program is not installed
  opener.unref();
}
