// The health port of `perdure worker`: `/healthz` and `/readyz` on every address of the machine, without credentials.
//   - It opens before the store and closes after it, so that a probe gets an answer at any time. The process is ready
//        only while its worker, or every worker process, takes work and the store answers.

import { createServer } from "node:http";
import { closerOf } from "../../server/http/connections.ts";
import { healthRoutes } from "../../server/http/health.ts";
import { nodeListener } from "../../server/http/node-listener.ts";
import { CliError } from "../exit-codes.ts";

export type IsReady = () => Promise<boolean>;

export interface HealthPort extends AsyncDisposable {
  /** The port; the given one, unless that was 0. Null: there is no health port. */
  readonly port: number | null;
  /** Sets the check of readiness. Until then the process is not ready. */
  reports(isReady: IsReady): void;
}

/** `port` undefined: nothing is opened. */
export async function openHealthPort(port: number | undefined): Promise<HealthPort> {
  let isReady: IsReady = async () => false;
  const reports = (given: IsReady): void => void (isReady = given);
  if (port === undefined) return { port: null, reports, async [Symbol.asyncDispose]() {} };
  const node = createServer(nodeListener(healthRoutes(() => isReady())));
  const close = closerOf(node);
  await new Promise<void>((resolve, reject) => {
    node.once("error", (error) => reject(cannotListen(port, error)));
    node.listen(port, resolve);
  });
  const address = node.address();
  const opened = typeof address === "object" && address !== null ? address.port : port;
  return { port: opened, reports, [Symbol.asyncDispose]: close };
}

function cannotListen(port: number, error: Error): CliError {
  return new CliError("USAGE", `--health-port ${port} cannot be used: ${error.message}.`);
}
