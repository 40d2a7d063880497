// perdure restart: runs ended instances again with the same input, as their next execution.

import { addBulkOptions, runBulk, type BulkOptions } from "../../options/bulk.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { STATUSES } from "../../options/filter-options.ts";
import { runAgainWarning } from "../../options/run-again.ts";

export function addRestart(program: Program): void {
  const command = defineCommand<BulkOptions>(
    program,
    {
      usage: "restart [ids...]",
      summary: "run ended instances again from the start",
      description:
        "Runs ended instances again with the same input, as a new execution with an empty mailbox, key-values and " +
        "status. Earlier executions stay readable. Activities and steps that completed run again, with new " +
        "idempotency keys; the command lists them and asks first.",
      examples: [
        ["perdure restart order-7", "restart one ended instance; asks first"],
        ["perdure restart --status failed --name fulfil", "restart all failed ones; asks first"],
      ],
    },
    (call) =>
      runBulk(call, {
        verb: "restart",
        past: "restarted",
        isFinal: false,
        takes: [{ status: STATUSES.ended }],
        warning: (session, selection) =>
          runAgainWarning(session, selection, ({ completedAt }) => completedAt !== undefined),
        act: ({ client }, id) => client.get(id).restart(),
      }),
  );
  addBulkOptions(command);
}
