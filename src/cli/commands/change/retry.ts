// perdure retry: makes a stuck instance continue.
//   - It unblocks a blocked instance, and the instance's code continues where it stopped.
//   - It restarts a failed instance, after listing the work that runs again and asking for confirmation.
//   - It refuses every other instance.

import type { InstanceInfo } from "../../../client/inspect/instance-info.ts";
import { addBulkOptions, runBulk, type BulkOptions } from "../../options/bulk.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { CliError } from "../../exit-codes.ts";
import { runAgainWarning } from "../../options/run-again.ts";
import type { Session } from "../../store/session.ts";

export function addRetry(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "retry [ids...]",
      summary: "unblock blocked instances; run failed ones again from the start",
      description:
        "Unblocks a blocked instance: its code continues where it stopped. Runs a failed instance again from the " +
        "start, with the same input: activities and steps that completed run again, with new idempotency keys. The " +
        "command lists them and asks first. Refuses other instances: use " +
        '"perdure restart" for any ended instance, and "perdure fork" to continue from the middle of one.',
      examples: [
        ["perdure retry order-7", "retry one instance; asks first if it failed"],
        ["perdure retry order-7 --yes", "retry without asking"],
        [
          "perdure retry --name fulfil --created-after 1d",
          "retry what was created since yesterday",
        ],
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
    status === "cancelled" || status === "terminated" ? ` Use: perdure restart ${id}` : "";
  const message = `The instance is ${status} and not blocked: there is nothing to retry.${hint}`;
  throw new CliError("NOT_RETRYABLE", message);
}
