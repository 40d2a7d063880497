// perdure retry: makes a stuck instance continue.
//   RY1. A blocked instance is unblocked, and its code continues where it stopped. A failed instance runs again from the
//        start, after a question that names the work it repeats. Every other instance is refused.

import type { InstanceInfo } from "../../client/instance-info.ts";
import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { runAgainWarning } from "../run-again.ts";
import type { Session } from "../session.ts";

export function addRetry(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "retry [ids...]",
      summary: "unblock blocked instances; run failed ones again from the start",
      description:
        "A blocked instance is unblocked: its code continues where it stopped. A failed instance runs again from the " +
        "start, with the same input: activities and steps that completed are done again, under new idempotency " +
        "keys. The command names them and asks first. Other instances are refused; " +
        '"perdure restart" takes every instance that ended, and "perdure fork" continues from the middle of one.',
      examples: [
        ["perdure retry order-7", "one instance; asks if it failed"],
        ["perdure retry order-7 --yes", "without the question"],
        ["perdure retry --name fulfil --created-after 1d", "what got stuck since yesterday"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "retry",
        past: "retried",
        isFinal: false,
        takes: [{ blocked: true }, { status: ["failed"] }],
        warning: (session, selection) => runAgainWarning(session, selection, isRunAgain),
        act: retry,
      }),
  );
  addBulkOptions(command);
}

function isRunAgain({ blocked, status }: InstanceInfo): boolean {
  return blocked === undefined && status === "failed";
}

async function retry({ client }: Session, id: string): Promise<void> {
  const handle = client.get(id);
  const info = await handle.describe();
  const { blocked, status } = info;
  if (blocked !== undefined) return handle.unblock();
  if (isRunAgain(info)) return handle.restart();
  const hint =
    status === "cancelled" || status === "terminated" ? "; perdure restart takes it" : "";
  const message = `It is ${status} and not blocked: there is nothing to retry${hint}.`;
  throw new CliError("NOT_RETRYABLE", message);
}
